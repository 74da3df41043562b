package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/stint-go/stint/cmd/stint/internal/advise"
	"github.com/stint-go/stint/cmd/stint/internal/replay"
	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"github.com/stint-go/stint/policyfile"
)

// An adviser is the command advise with its flags.
type adviser struct {
	choices
	format, refuse, strategy, name string
	windows                        []string
	ignore                         []string
	top                            int
}

func newAdvise() *cobra.Command {
	var a adviser
	cmd := &cobra.Command{
		Use:   "advise [FILE...]",
		Short: "Propose a limit from recorded traffic",
		Long: `Looks at who asked how much, and proposes a limit that refuses at most a wanted
share of honest requests. Input is as for replay.

Honest is who does not stand out. A key stands out in a window where it asks for
half as much again as the next key below it, and at most one key in a hundred
does: look at those by hand. Keys that you know better are left out by --ignore.

The limit is the smallest round number that keeps the share, for the strategy
that you name, over the whole time and over each half of it. Proposed is the
shortest window in which somebody stands out, or a minute where nobody does. The
whole trace is held in memory, 16 bytes a request.`,
		Example: `  stint advise /var/log/nginx/access.log

  # At most one honest request in 10,000, by API key, in windows of your own
  stint advise --refuse 0.01% --key header:X-Api-Key --window 10s,5m,1d trace.jsonl

  # Without the office and the monitoring
  stint advise --ignore 198.51.100.7,203.0.113.9 access.log`,
		RunE: func(cmd *cobra.Command, files []string) error { return a.run(cmd, files) },
	}
	f := cmd.Flags()
	f.StringVarP(&a.key, "key", "k", "ip", "who is counted: ip, ip/24/56, user, route, header:X-Api-Key, ip+route ...; a \"key\" in the trace comes first")
	f.StringVar(&a.refuse, "refuse", "0.1%", "share of honest requests that may be refused")
	f.StringSliceVar(&a.windows, "window", []string{"1s", "10s", "1m", "10m", "1h", "1d"}, "windows to look at")
	f.StringVarP(&a.strategy, "strategy", "s", "sliding-window", "strategy to choose the limit for")
	f.StringVar(&a.name, "name", "api", "name of the policy")
	f.StringSliceVar(&a.ignore, "ignore", nil, "keys to leave out")
	f.StringVarP(&a.format, "format", "f", "auto", "form of the input: "+fmt.Sprint(trace.FormatNames))
	f.StringSliceVar(&a.proxies, "proxy", nil, "address or network of a reverse proxy, whose X-Forwarded-For is believed")
	f.StringVar(&a.proxyHeader, "proxy-header", "", "the one `field` in which these proxies put the client's address")
	f.IntVar(&a.top, "top", 10, "how many keys that stand out to show")
	complete(cmd, "strategy", policyfile.StrategyNames...)
	complete(cmd, "format", append(trace.FormatNames, "auto")...)
	complete(cmd, "key", "ip", "user", "user_or_ip", "route", "ip+route")
	return cmd
}

func (a *adviser) run(cmd *cobra.Command, files []string) error {
	share, shareErr := parseShare(a.refuse)
	windows, windowErr := a.lengths()
	strategy, strategyErr := (policyfile.Counting{Strategy: a.strategy}).Build()
	file, keyErr := a.file("1/s", "sliding-window", false) // the rate is never asked
	in, openErr := openTrace(cmd, files, a.format)
	if err := errors.Join(shareErr, windowErr, strategyErr, keyErr, openErr); err != nil {
		return err
	}
	traffic := new(advise.Traffic)
	lane, err := replay.NewLane("traffic", file, traffic, "")
	if err != nil {
		return err
	}
	traffic.Shift = lane.Shift()
	run := &replay.Run{Lanes: []*replay.Lane{lane}}
	if err := through(cmd.Context(), cmd.ErrOrStderr(), run, in, 0); err != nil {
		return err
	}
	traffic.Drop(a.ignore)
	traffic.Sort()
	if len(traffic.Keys) == 0 {
		return errors.New("nobody asked for anything: look at --format, --key and --ignore")
	}
	var others []advise.Named
	for _, name := range policyfile.StrategyNames {
		if s, err := (policyfile.Counting{Strategy: name}).Build(); err == nil {
			others = append(others, advise.Named{Name: name, Strategy: s})
		}
	}
	advice, err := traffic.Give(windows, strategy, share, others)
	if err != nil {
		return err
	}
	a.show(cmd.OutOrStdout(), run, traffic, advice)
	if run.Result.Interrupted {
		return errors.New("interrupted")
	}
	return nil
}

// parseShare reads 0.1% or 0.001.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share < 1) {
		return 0, fmt.Errorf("--refuse %q: write a share such as 0.1%% or 0.001", text)
	}
	return share, nil
}

// lengths are the windows.
func (a *adviser) lengths() (lengths []time.Duration, err error) {
	for _, text := range a.windows {
		d, err := parseWindow(text)
		if err != nil {
			return nil, fmt.Errorf("--window: %w", err)
		}
		lengths = append(lengths, d)
	}
	if len(lengths) == 0 {
		return nil, errors.New("--window: name at least one, such as 1m")
	}
	return lengths, nil
}

func (a *adviser) show(w io.Writer, run *replay.Run, traffic *advise.Traffic, advice *advise.Advice) {
	r, best := &run.Result, advice.Best
	if r.Interrupted {
		fmt.Fprintln(w, "Interrupted. So far:")
	}
	fmt.Fprintf(w, "%s requests of %s keys, %s\n\n", grouped(r.Entries), grouped(int64(len(traffic.Keys))), span(r.From, r.To))
	fmt.Fprintln(w, "What keys ask for in their busiest interval, and the limit that refuses", a.refuse, "of honest requests at most:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "  in any\tp50\tp90\tp99\tmax\tstand out\tlimit\thonest refused\tof those who stand out\t")
	for _, v := range advice.Windows {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t\n", intervalText(v.Length), grouped(v.P50), grouped(v.P90), grouped(v.P99), grouped(v.Max),
			len(v.Outliers), rate(v), percent(v.Honest.Refused, v.Honest.Requests), percent(v.Outlying.Refused, v.Outlying.Requests))
	}
	t.Flush()
	a.outliers(w, advice)
	fmt.Fprintf(w, "\nWhat each strategy would do with %s:\n", rate(best))
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "  \thonest refused\t\tkeys\tof those who stand out\t")
	for _, s := range advice.Strategies {
		if s.Err != nil {
			fmt.Fprintf(t, "  %s\t-\t\t\t\t\n", s.Name)
			continue
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%d\t%s\t\n", s.Name, grouped(s.Honest.Refused), percent(s.Honest.Refused, s.Honest.Requests),
			s.Honest.RefusedKeys, percent(s.Outlying.Refused, s.Outlying.Requests))
	}
	t.Flush()
	fmt.Fprintf(w, "\nPut to the proof: the first half of the time alone asks for %d/%s, the second for %d/%[2]s.\n",
		best.Halves[0], windowText(best.Length), best.Halves[1])
	a.paste(w, best)
	summary{run: run, sorted: true}.notes(w)
}

// outliers shows who stands out in the window that is proposed.
func (a *adviser) outliers(w io.Writer, advice *advise.Advice) {
	best := advice.Best
	if len(best.Outliers) == 0 {
		fmt.Fprintln(w, "\nNobody stands out.")
		return
	}
	fmt.Fprintf(w, "\nWho stands out in %s:\n", intervalText(best.Length))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range best.Outliers[:min(a.top, len(best.Outliers))] {
		fmt.Fprintf(t, "  %s\t%s requests\t%s in its busiest %s\n", printable(o.Key.Name), grouped(int64(len(o.Key.Uses))), grouped(o.Units), intervalText(best.Length))
	}
	t.Flush()
}

// paste is the policy as a file.
func (a *adviser) paste(w io.Writer, best *advise.Window) {
	fmt.Fprintf(w, "\nTo paste into a policy file:\n\npolicies:\n  - name: %s\n    rate: %s\n", a.name, rate(best))
	if a.strategy != "sliding-window" {
		fmt.Fprintf(w, "    strategy: %s\n", a.strategy)
	}
	if a.key != "ip" {
		fmt.Fprintf(w, "    key: %s\n", strconv.Quote(a.key))
	}
}

func rate(w *advise.Window) string { return fmt.Sprintf("%d/%s", w.Limit, windowText(w.Length)) }
