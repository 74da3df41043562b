package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/stint-go/stint/core"
)

func newBan() *cobra.Command {
	var k looker
	var yes bool
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "ban --policies FILE --backend URL",
		Short: "Refuse somebody for a while",
		Long: `Refuses somebody from now on, under the policies of an application that have a
ban, or under those of them that --policy names: in place of a ban that may go on
already. It shows what stands and asks first, unless --yes.

The exit code is 1 where the answer was no.` + whose,
		Example: `  stint ban --policies limits.yaml --backend redis://127.0.0.1:6379 --policy login --ip 203.0.113.7 --form username=bob --for 24h`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("for") && length < time.Millisecond {
				return fmt.Errorf("--for %v: write for example 30m or 24h", length)
			}
			return k.changeBans(cmd, yes, "Ban?", "banned under", func(ctx context.Context, s *sight, key core.Key) error {
				d := length
				if d == 0 {
					d = s.Ban.For
				}
				return s.limiter.Ban(ctx, s.Name, key, d)
			})
		},
	}
	k.addTo(cmd)
	cmd.Flags().DurationVar(&length, "for", 0, "how long, as 30m or 24h (default: as long as the first ban of the policy)")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func newUnban() *cobra.Command {
	var k looker
	var yes bool
	cmd := &cobra.Command{
		Use:   "unban --policies FILE --backend URL",
		Short: "Lift the ban of somebody",
		Long: `Lifts the ban of somebody under the policies of an application, or under those
that --policy names, and forgets the strikes. What was consumed stays: see reset. It
shows what stands and asks first, unless --yes.

The exit code is 1 where the answer was no.` + whose,
		Example: `  stint unban --policies limits.yaml --backend redis://127.0.0.1:6379 --policy login --ip 203.0.113.7 --form username=bob`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.changeBans(cmd, yes, "Lift the ban?", "lifted under", func(ctx context.Context, s *sight, key core.Key) error {
				return s.limiter.Unban(ctx, s.Name, key)
			})
		},
	}
	k.addTo(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// changeBans does something about the bans of somebody, once it is confirmed.
func (k *looker) changeBans(cmd *cobra.Command, yes bool, question, done string, change func(context.Context, *sight, core.Key) error) error {
	sights, end, err := k.open(cmd.Context(), false)
	if err != nil {
		return err
	}
	defer end()
	if sights, err = k.banning(sights); err != nil {
		return err
	}
	if err := peek(cmd.OutOrStdout(), sights, time.Now()); err != nil {
		return err
	}
	if !yes && !confirmed(cmd, question) {
		return errNo
	}
	var names []string
	for i := range sights {
		s := &sights[i]
		for _, key := range *s.keys { // of the look that was shown
			if err := change(cmd.Context(), s, key); err != nil {
				return err
			}
		}
		if len(*s.keys) > 0 {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return errors.New("nobody to look at: say who, as --ip")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", done, strings.Join(names, ", "))
	return nil
}

// banning are the sights of policies with a ban. A policy that was asked for by
// its name has to have one.
func (k *looker) banning(sights []sight) (with []sight, err error) {
	for _, s := range sights {
		switch {
		case s.Ban != nil:
			with = append(with, s)
		case len(k.only) > 0:
			return nil, fmt.Errorf("--policy: %q has no ban: add one to %s, such as ban: {after: 5, within: 10m, for: 1h}", s.Name, k.file)
		}
	}
	if len(with) == 0 {
		return nil, fmt.Errorf("%s has no policy with a ban: add one, such as ban: {after: 5, within: 10m, for: 1h}", k.file)
	}
	return with, nil
}

// peekBan is the line of a policy's ban: strikes, or when it ends.
func peekBan(w io.Writer, e core.Entry, now time.Time) {
	stands := "not banned"
	if !e.Allowed {
		stands = "banned until " + clock(now.Add(e.RetryAfter))
	}
	fmt.Fprintf(w, "%s\tban after %v\t%s\t%s\t%s\t%s\t%s\n", e.Policy, e.Rate, grouped(e.Limit), grouped(e.Remaining), wait(e.RetryAfter), wait(e.ResetAfter), stands)
}
