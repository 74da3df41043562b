package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/stint-go/stint/cmd/stint/internal/replay"
	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"golang.org/x/term"
)

// A replayer is the command replay with its flags.
type replayer struct {
	choices
	format, backend, decisions, summary string
	strict, failOnRefused               bool
	page                                reporter
	top                                 int
	sort                                time.Duration
}

func newReplay() *cobra.Command {
	var r replayer
	cmd := &cobra.Command{
		Use:   "replay [FILE...]",
		Short: "Run recorded traffic through limits: who would have been refused",
		Long: `Runs recorded traffic through the library's own limiter, under the clock of the
trace, and says who would have been refused.

Input are access logs in common, combined, Caddy, nginx (JSON) or Envoy (JSON)
form, or JSON lines such as

  {"at_ms":0,"key":"a","cost":1}

plain or gzip, from files or standard input; the form is detected, or named by
--format. JSON lines can also have "op" (take, peek, refund), "keys" (a list: all
are charged, or none), and what describes a request, for keys such as
header:X-Api-Key: ip, user, method, path, route, headers, query, form, json. An
entry with a key is counted by it; the others by --key or the policy file.
A refund gives back the units of the key's latest charge, "cost" of them at most.

Lines are decided in the order of the input. A time before an earlier one is
decided at its own time, and a counter's clock never goes back: as on a server
whose clock is set back. --sort 1m puts lines in order that are up to a minute
late, as those of several servers are; decisions are then written in that order.
Lines that can not be read are counted and shown.

The exit code is 0, or 1 where requests were refused under --fail-on-refused, or
2 for wrong use and where something broke. Ctrl-C shows what there is so far, and
is a 2.`,
		Example: `  # Who would 100 requests a minute and client have refused?
  stint replay --rate 100/m /var/log/nginx/access.log

  # Two strategies side by side, on compressed logs: in what do they differ?
  zcat access.log.*.gz | stint replay --rate 100/m --strategy sliding-window,gcra

  # Is the new file stricter than the old one? For whom?
  stint replay --policies limits.yaml --policies new.yaml access.log

  # Every decision as JSON, on a real Redis, under names that are deleted afterwards
  stint replay --rate 10/s --backend redis://127.0.0.1:6379 --decisions out.jsonl trace.jsonl

  # A page with charts, and a slider for the limit
  stint replay --rate 100/m --strategy all --report report.html access.log

  # In CI: the recorded traffic of honest users must pass
  stint replay --policies limits.yaml --fail-on-refused --summary json honest.jsonl`,
		RunE: func(cmd *cobra.Command, files []string) error { return r.run(cmd, files) },
	}
	r.addTo(cmd)
	f := cmd.Flags()
	f.StringVarP(&r.format, "format", "f", "auto", "form of the input: "+fmt.Sprint(trace.FormatNames))
	f.StringVarP(&r.backend, "backend", "b", "memory", "where to count: memory, redis://host:port or memcached://host:port")
	f.StringVarP(&r.decisions, "decisions", "d", "", "write each decision as a JSON line to this `file`; - is standard output")
	f.StringVar(&r.summary, "summary", "table", "how to sum up: table, json or none")
	f.StringVar(&r.page.file, "report", "", "write a page with charts, and a slider for the limit, to this `file`; a run then takes some ten times as long")
	f.BoolVar(&r.page.hashKeys, "hash-keys", false, "show keys in the report as pseudonyms")
	f.BoolVar(&r.strict, "strict", false, "end at the first line that can not be read")
	f.BoolVar(&r.failOnRefused, "fail-on-refused", false, "exit with 1 where a request was refused")
	f.DurationVar(&r.sort, "sort", 0, "put requests in order that come at most this `late`, before they are decided")
	f.IntVar(&r.top, "top", 10, "how many keys to show")
	complete(cmd, "format", append(trace.FormatNames, "auto")...)
	complete(cmd, "summary", "table", "json", "none")
	complete(cmd, "backend", "memory", "redis://127.0.0.1:6379", "memcached://127.0.0.1:11211")
	return cmd
}

func (r *replayer) run(cmd *cobra.Command, files []string) (err error) {
	if r.summary != "table" && r.summary != "json" && r.summary != "none" {
		return fmt.Errorf("--summary %q: use table, json or none", r.summary)
	}
	if r.sort < 0 || r.top < 0 {
		return errors.New("--sort and --top are 0 or more")
	}
	plans, err := r.plans()
	in, openErr := openTrace(cmd, files, r.format)
	if err := errors.Join(err, openErr); err != nil {
		return err
	}
	store, err := openStore(cmd.Context(), r.backend)
	if err != nil {
		return err
	}
	defer store.close()
	lanes, err := build(plans, store)
	if err != nil {
		return err
	}
	run := &replay.Run{Lanes: lanes, Strict: r.strict}
	if r.page.file != "" {
		if err := r.page.check(); err != nil {
			return err
		}
		run.Beside = r.page.open(plans)
	}
	var log *decisionLog
	if r.decisions != "" {
		if log, err = openDecisions(r.decisions, cmd.OutOrStdout(), lanes, plans); err != nil {
			return err
		}
		run.Decided = log.write
	}
	err = through(cmd.Context(), cmd.ErrOrStderr(), run, in, r.sort)
	if log != nil {
		err = errors.Join(err, log.Close())
	}
	if r.page.file != "" {
		err = errors.Join(err, r.page.write(run, files))
	}
	out := cmd.OutOrStdout()
	if r.decisions == "-" {
		out = cmd.ErrOrStderr()
	}
	s := summary{run: run, top: r.top, forgot: store.forgot()}
	switch r.summary {
	case "table":
		s.table(out)
	case "json":
		err = errors.Join(err, s.json(out))
	}
	return r.verdict(run, err)
}

// through runs the trace, with a progress bar where somebody looks.
func through(ctx context.Context, errs io.Writer, run *replay.Run, in *trace.Reader, late time.Duration) error {
	bar := newProgress(errs, in.Size)
	run.Progress = bar.show
	defer bar.clear()
	batches := in.Batches(ctx)
	if late > 0 {
		batches = trace.Sorted(batches, late.Microseconds())
	}
	return run.Do(ctx, batches)
}

// openTrace opens the input. Standard input is not waited for where somebody sits
// at it.
func openTrace(cmd *cobra.Command, files []string, format string) (*trace.Reader, error) {
	if f, ok := cmd.InOrStdin().(*os.File); ok && len(files) == 0 && term.IsTerminal(int(f.Fd())) {
		return nil, errors.New("no trace: name files, or - for standard input")
	}
	return trace.Open(files, format, cmd.InOrStdin())
}

// verdict is the command's error, once all has been said.
func (r *replayer) verdict(run *replay.Run, err error) error {
	if errors.Is(err, replay.ErrBroken) {
		b := run.Result.FirstBroken[0]
		return fmt.Errorf("%s: line %d: %w", b.File, b.Line, b.Err)
	}
	if err != nil {
		return err
	}
	if run.Result.Interrupted {
		return errors.New("interrupted")
	}
	for _, l := range run.Lanes {
		if r.failOnRefused && l.Totals.Refused > 0 {
			return errNo
		}
	}
	return nil
}
