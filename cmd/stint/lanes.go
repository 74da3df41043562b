package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/stint-go/stint/cmd/stint/internal/replay"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/policyfile"
)

// choices are the flags that say by which policies. Each combination of a rate
// and a strategy, and each file, is a lane of its own.
type choices struct {
	rates, strategies, files []string
	key, align               string
	precision                time.Duration
	inclusive, countDenied   bool
	burst                    int64
	proxies                  []string
	proxyHeader              string
}

func (c *choices) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&c.rates, "rate", "r", nil, `rate such as 100/m or "10/s; 1000/d"; repeated: side by side`)
	f.StringSliceVarP(&c.strategies, "strategy", "s", nil, "how to count: "+strings.Join(policyfile.StrategyNames, ", ")+", or all; several: side by side (default sliding-window)")
	f.StringArrayVarP(&c.files, "policies", "p", nil, "policy `file` in place of --rate; repeated: side by side")
	f.StringVarP(&c.key, "key", "k", "ip", "who is counted: ip, ip/24/56, user, route, header:X-Api-Key, ip+route ...; a \"key\" in the trace comes first")
	f.DurationVar(&c.precision, "precision", 0, "length of the sub-windows of bucketed-window")
	f.BoolVar(&c.inclusive, "inclusive", false, "bucketed-window: sum the current sub-window too, instead of one more")
	f.Int64Var(&c.burst, "burst", 0, "the most at once of gcra (default: the limit)")
	f.StringVar(&c.align, "align", "", "where windows begin: first (with the first request), staggered (per key), clock (default staggered)")
	f.BoolVar(&c.countDenied, "count-denied", false, "count refused requests too")
	f.StringSliceVar(&c.proxies, "proxy", nil, "address or network of a reverse proxy, whose X-Forwarded-For is believed")
	f.StringVar(&c.proxyHeader, "proxy-header", "", "the one `field` in which these proxies put the client's address")
	complete(cmd, "strategy", append([]string{"all"}, policyfile.StrategyNames...)...)
	complete(cmd, "align", "first", "staggered", "clock")
	complete(cmd, "key", "ip", "user", "user_or_ip", "route", "ip+route")
}

// complete has a shell complete a flag with these words.
func complete(cmd *cobra.Command, flag string, words ...string) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// A plan is a lane before it has a backend.
type plan struct {
	name string
	file *policyfile.File
}

// plans are the lanes that the flags ask for. The error is all that is wrong.
func (c *choices) plans() ([]plan, error) {
	if len(c.rates)+len(c.files) == 0 {
		return nil, errors.New(`no policy: say --rate 100/m, or --policies limits.yaml`)
	}
	var plans []plan
	var errs []error
	strategies := c.strategies
	if len(strategies) == 0 {
		strategies = []string{"sliding-window"}
	} else if len(strategies) == 1 && strategies[0] == "all" {
		strategies = policyfile.StrategyNames
	}
	for _, rate := range c.rates {
		for _, strategy := range strategies {
			f, err := c.file(rate, strategy, len(strategies) > 1)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			name := rate + " " + strategy
			switch {
			case len(c.rates) == 1 && len(c.files) == 0 && len(strategies) > 1:
				name = strategy
			case len(strategies) == 1 && len(c.rates) > 1:
				name = rate
			}
			plans = append(plans, plan{name, f})
		}
	}
	for _, name := range c.files {
		f, err := readFile(name)
		errs = append(errs, err)
		plans = append(plans, plan{name, f})
	}
	return plans, errors.Join(errs...)
}

// file is the policy file that the flags stand for. Where several strategies are
// tried, settings are those of the strategies that have them.
func (c *choices) file(rate, strategy string, several bool) (*policyfile.File, error) {
	rates, err := core.ParseRates(rate)
	if err != nil {
		return nil, fmt.Errorf("--rate: %w", err)
	}
	key, err := core.ParseKey(c.key)
	if err != nil {
		return nil, fmt.Errorf("--key: %w", err)
	}
	counting := policyfile.Counting{Strategy: strategy, Align: c.align, Precision: c.precision, Inclusive: c.inclusive, Burst: c.burst}
	if several {
		counting = fitting(counting)
	}
	s, err := counting.Build()
	if err != nil {
		return nil, err
	}
	f := &policyfile.File{ProxyHeader: c.proxyHeader, Policies: []policyfile.Policy{{Policy: core.Policy{
		Name: "limit", Rates: rates, Strategy: s, Key: key, CountDenied: c.countDenied}}}}
	for _, text := range c.proxies {
		p, err := policyfile.ParseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("--proxy: %w", err)
		}
		f.Proxies = append(f.Proxies, p)
	}
	return f, nil
}

// fitting is counting without the settings that its strategy does not have.
func fitting(c policyfile.Counting) policyfile.Counting {
	if c.Strategy != "bucketed-window" {
		c.Precision, c.Inclusive = 0, false
	}
	if c.Strategy != "gcra" {
		c.Burst = 0
	}
	if c.Strategy == "gcra" || c.Strategy == "moving-window" || c.Align == "first" && c.Strategy != "fixed-window" {
		c.Align = ""
	}
	return c
}

// readFile reads a policy file.
func readFile(name string) (*policyfile.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return policyfile.Parse(name, text)
}

// build makes lanes of plans, on backends of their own.
func build(plans []plan, store *store) ([]*replay.Lane, error) {
	var lanes []*replay.Lane
	var errs []error
	for _, p := range plans {
		backend, prefix, err := store.backend()
		if err == nil {
			var l *replay.Lane
			if l, err = replay.NewLane(p.name, p.file, backend, prefix); err == nil {
				lanes = append(lanes, l)
			}
		}
		errs = append(errs, err)
	}
	return lanes, errors.Join(errs...)
}
