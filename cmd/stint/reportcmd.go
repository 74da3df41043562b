package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/cmd/stint/internal/replay"
	"github.com/stint-go/stint/cmd/stint/internal/report"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/policyfile"
)

// factors are the limits to choose from with the slider, in parts of those that
// were asked for.
var factors = []float64{0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 7, 10}

const asked = 8 // the index of 1

// A reporter makes the page: it runs lanes with other limits beside the others.
type reporter struct {
	file     string
	hashKeys bool
	plans    []plan
	lanes    [][]*replay.Lane // of each plan, by factor; nil where it is the lane itself
}

// open makes the lanes. They count in memory, wherever the others do: the rules
// are the same.
func (r *reporter) open(plans []plan) (all []*replay.Lane) {
	r.plans = plans
	for _, p := range plans {
		versions := make([]*replay.Lane, len(factors))
		for i, f := range factors {
			if i == asked {
				continue
			}
			backend, err := memory.NewWith(memory.Options{MaxCells: liveKeys / 16, MaxBytes: 1 << 40})
			if err == nil {
				versions[i], err = replay.NewLane(p.name, scaled(p.file, f), backend, "")
			}
			if err == nil {
				all = append(all, versions[i])
			} else {
				versions[i] = nil // a limit that this strategy can not have
			}
		}
		r.lanes = append(r.lanes, versions)
	}
	return all
}

// scaled is the file with other limits.
func scaled(f *policyfile.File, factor float64) *policyfile.File {
	g := *f
	g.Policies = slices.Clone(f.Policies)
	for i, p := range g.Policies {
		g.Policies[i].Rates = times(p.Rates, factor)
		if s, ok := p.Strategy.(core.GCRA); ok && s.Burst > 0 {
			s.Burst = max(1, int64(float64(s.Burst)*factor))
			g.Policies[i].Strategy = s
		}
	}
	return &g
}

func times(rates core.Rates, factor float64) core.Rates {
	out := slices.Clone(rates)
	for i := range out {
		if out[i].Limit > 0 {
			out[i].Limit = min(max(1, int64(float64(out[i].Limit)*factor+0.5)), core.MaxLimit)
		}
	}
	return out
}

// limitsOf are the limits of a file in short.
func limitsOf(f *policyfile.File) string {
	var list []string
	for _, p := range f.Policies {
		text := p.Rates.String()
		if len(f.Policies) > 1 {
			text = p.Name + " " + text
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// write writes the page about a run.
func (r *reporter) write(run *replay.Run, files []string) error {
	res := &run.Result
	p := report.Page{From: millis(res.From), To: millis(res.To), Dated: dated(res.To), Requests: res.Entries, Broken: res.Broken}
	if len(files) == 0 {
		p.Files = []string{"standard input"}
	}
	for _, name := range files {
		p.Files = append(p.Files, filepath.Base(name))
	}
	name := r.names()
	for i, l := range run.Lanes {
		lane := report.Lane{Name: l.Name}
		for f := range factors {
			v, file := r.lanes[i][f], scaled(r.plans[i].file, factors[f])
			if v == nil {
				v, file = l, r.plans[i].file
			}
			lane.Versions = append(lane.Versions, version(v, limitsOf(file)))
		}
		var all []report.Key
		for _, k := range l.Top(1 << 20) {
			all = append(all, report.Key{Name: name(k.Key), Requests: k.Requests, Refused: k.Refused})
		}
		lane.Keys, lane.Bins = all[:min(15, len(all))], report.Bins(all)
		p.Lanes = append(p.Lanes, lane)
		p.Start, p.Step = millis(l.Series.Start), millis(max(l.Series.Step, 1000))
	}
	p.At = asked
	f, err := os.Create(r.file)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(f), f.Close())
}

func version(l *replay.Lane, limits string) report.Version {
	v := report.Version{Limits: limits, Total: []int64{}, Refused: []int64{}}
	for i := range l.Series.Allowed {
		v.Total = append(v.Total, l.Series.Allowed[i]+l.Series.Refused[i])
		v.Refused = append(v.Refused, l.Series.Refused[i])
	}
	v.Keys, v.RefusedKeys = l.Keys()
	return v
}

// names shows keys as they are, or as pseudonyms that nobody can undo: they are
// of a secret that is forgotten.
func (r *reporter) names() func(string) string {
	if !r.hashKeys {
		return printable
	}
	secret := []byte(rand.Text())
	return func(key string) string {
		h := hmac.New(sha256.New, secret)
		h.Write([]byte(key))
		return "key " + hex.EncodeToString(h.Sum(nil)[:5])
	}
}

// check finds out early that the file can not be written.
func (r *reporter) check() error {
	info, err := os.Stat(filepath.Dir(r.file))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("--report: %s is no directory", filepath.Dir(r.file))
	}
	return nil
}
