package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/stint-go/stint/core"
)

const whose = `

Whom to look at is said as a request would: --ip, --user, --header, --form and so
on, as far as the policies' keys need it. Policies that apply to some methods or
routes only are looked at whatever the method, unless it is given.`

func newPeek() *cobra.Command {
	var k looker
	cmd := &cobra.Command{
		Use:   "peek --policies FILE --backend URL",
		Short: "Show what somebody has consumed",
		Long:  "Shows what somebody has consumed under each policy of an application, in its live\nstore. Nothing is charged and nothing is changed." + whose,
		Example: `  stint peek --policies limits.yaml --backend redis://127.0.0.1:6379 --ip 203.0.113.7
  stint peek -p limits.yaml -b redis://127.0.0.1:6379 --policy login --ip 203.0.113.7 --form username=bob`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sights, done, err := k.open(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			return peek(cmd.OutOrStdout(), sights, time.Now())
		},
	}
	k.addTo(cmd)
	return cmd
}

func peek(w io.Writer, sights []sight, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "policy\trate\tat once\tremaining\tmore in\tall of it in\tmode")
	for i := range sights {
		s := &sights[i]
		d, nobody, err := s.look()
		if err != nil {
			return err
		}
		if nobody != nil {
			fmt.Fprintf(t, "%s\t%v\t-\t-\t-\t-\tcounts by %s: say who\n", s.Name, s.Rates, keyName(s))
			continue
		}
		none := true
		for e := range d.Entries() {
			none = false
			if e.Ban {
				peekBan(t, e, now)
				continue
			}
			fmt.Fprintf(t, "%s\t%v%s\t%s\t%s\t%s\t%s\t%s\n", e.Policy, e.Rate, overridden(s, e), grouped(e.Limit), grouped(e.Remaining), wait(e.NextAfter), wait(e.ResetAfter), mode(s))
		}
		if none {
			fmt.Fprintf(t, "%s\tno limit\t-\t-\t-\t-\t%s\n", s.Name, mode(s))
		}
	}
	return t.Flush()
}

func newWhy() *cobra.Command {
	var k looker
	cmd := &cobra.Command{
		Use:   "why --policies FILE --backend URL",
		Short: "Say why somebody is refused, and until when",
		Long: `Says by which policies the next request of somebody would be refused, until when,
and what would happen instead. Nothing is charged and nothing is changed.

The exit code is 0 where it would pass, and 1 where it would be refused.` + whose,
		Example: `  stint why --policies limits.yaml --backend redis://127.0.0.1:6379 --ip 203.0.113.7 --user bob`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sights, done, err := k.open(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer done()
			return why(cmd.OutOrStdout(), sights, time.Now())
		},
	}
	k.addTo(cmd)
	return cmd
}

func why(w io.Writer, sights []sight, now time.Time) error {
	refused := false
	for i := range sights {
		s := &sights[i]
		d, nobody, err := s.look()
		if err != nil {
			return err
		}
		if nobody != nil {
			fmt.Fprintf(w, "%s: not known: it counts by %s, say who\n", s.Name, keyName(s))
			continue
		}
		said := false
		for e := range d.Entries() {
			if e.Allowed {
				continue
			}
			said = true
			if s.Mode == core.Annotate {
				fmt.Fprintf(w, "%s: over %v, but it only annotates: the request would pass, marked\n", s.Name, e.Rate)
				continue
			}
			refused = true
			if e.Ban {
				fmt.Fprintf(w, "%s: banned for another %s, until %s\n", s.Name, wait(e.RetryAfter), clock(now.Add(e.RetryAfter)))
				continue
			}
			fmt.Fprintf(w, "%s: refused by %v%s: %s\n", s.Name, e.Rate, overridden(s, e), until(e, now))
		}
		if !said {
			fmt.Fprintf(w, "%s: would pass\n", s.Name)
		}
	}
	if refused {
		return errNo
	}
	return nil
}

// until says when a refusal ends.
func until(e core.Entry, now time.Time) string {
	if e.RetryAfter == core.NoRetry {
		return "no waiting helps"
	}
	return fmt.Sprintf("%s remain, the next passes in %s, at %s", grouped(e.Remaining), wait(e.RetryAfter), clock(now.Add(e.RetryAfter)))
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func newReset() *cobra.Command {
	var k looker
	var yes bool
	cmd := &cobra.Command{
		Use:   "reset --policies FILE --backend URL",
		Short: "Forget what somebody has consumed",
		Long: `Forgets what somebody has consumed under the policies of an application, or under
those that --policy names. It shows what stands and asks first, unless --yes.

The exit code is 1 where the answer was no.` + whose,
		Example: `  stint reset --policies limits.yaml --backend redis://127.0.0.1:6379 --policy login --ip 203.0.113.7 --form username=bob`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sights, done, err := k.open(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			if err := peek(cmd.OutOrStdout(), sights, time.Now()); err != nil {
				return err
			}
			if !yes && !confirmed(cmd, "Forget this?") {
				return errNo
			}
			return reset(cmd.OutOrStdout(), sights)
		},
	}
	k.addTo(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// confirmed asks. Whoever is not there to answer has not said yes.
func confirmed(cmd *cobra.Command, question string) bool {
	fmt.Fprintf(cmd.OutOrStdout(), "\n%s [y/N] ", question)
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	fmt.Fprintln(cmd.OutOrStdout())
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

func reset(w io.Writer, sights []sight) error {
	var names []string
	for i := range sights {
		s := &sights[i]
		switch err := s.limiter.ResetRequest(s.request); {
		case errors.Is(err, core.ErrIdentity): // shown as not known
		case err != nil:
			return err
		default:
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return errors.New("nothing to forget: say who, as --ip")
	}
	fmt.Fprintf(w, "forgotten under %s\n", strings.Join(names, ", "))
	return nil
}

func keyName(s *sight) string {
	if s.Key == nil {
		return "ip"
	}
	return s.Key.String()
}

// overridden marks a rate that the policy itself does not have.
func overridden(s *sight, e core.Entry) string {
	for _, r := range s.Rates {
		if r == e.Rate {
			return ""
		}
	}
	return " (override)"
}

func mode(s *sight) string {
	if s.Mode == core.Annotate {
		return "annotates"
	}
	return "enforces"
}

// wait is a length of time for people.
func wait(d time.Duration) string {
	switch {
	case d == core.NoRetry:
		return "never"
	case d == 0:
		return "-"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
