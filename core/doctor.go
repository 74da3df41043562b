package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Finding is one thing that is probably not as it was meant: the Limiter works,
// and does something else than whoever wrote the configuration believes. It names
// neither keys nor addresses of clients.
type Finding struct {
	// Code names the kind of finding. Codes do not change their meaning: compare
	// with them, and leave out the ones that are meant so. docs/doctor.md has all.
	Code string
	// Policy is the one that it is about, "" for the whole Limiter.
	Policy string
	// Reason says what is so, and what follows from that.
	Reason string
	// Remedy says what to do.
	Remedy string
}

// String is the finding on one line.
func (f Finding) String() string {
	where := f.Code
	if f.Policy != "" {
		where += ": policy " + f.Policy
	}
	return where + ": " + f.Reason + ". " + f.Remedy
}

// An Examiner is a Backend that knows what can be wrong with its store, its client
// or its own settings. Limiter.Doctor asks it. uses are all rules of the Limiter
// that are known beforehand. It may do I/O, within ctx; an error says that it could
// not look everywhere, beside what it has found. It is safe for concurrent use.
type Examiner interface {
	Examine(ctx context.Context, uses []Use) ([]Finding, error)
}

// A Use is a rule that a policy applies to the cells of a backend.
type Use struct {
	Policy string // its name
	Rule   Rule
}

// Doctor looks for misconfigurations: in the settings, in the backend (one
// decision that charges nothing, and what an Examiner says), and in what the first
// requests have shown so far. Nothing found is nil. An error says that the backend
// could not be looked at in full, beside what was found.
//
// It is meant for the start of a program and for its health page, not for the way
// of a request. What only requests can show is also logged, once, as a warning:
// nobody has to call Doctor for that.
func (l *Limiter) Doctor(ctx context.Context) ([]Finding, error) {
	found := l.examineSettings()
	for _, p := range l.policies {
		found = append(found, l.examinePolicy(p)...)
	}
	stored, err := l.examineBackend(ctx)
	found = append(found, stored...)
	found = append(found, l.watch.findings()...)
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Code, b.Code))
	})
	return found, err
}

// examineBackend asks for a decision that charges nothing, which is what a request
// needs, and then whoever knows the store.
func (l *Limiter) examineBackend(ctx context.Context) (found []Finding, err error) {
	found, err = l.tryBackend(ctx)
	for _, b := range []Backend{l.backend, l.config.Fallback} {
		if e, ok := b.(Examiner); ok {
			more, examineErr := e.Examine(ctx, l.uses())
			found, err = append(found, more...), errors.Join(err, examineErr)
		}
	}
	return found, err
}

func (l *Limiter) tryBackend(ctx context.Context) ([]Finding, error) {
	var asks []Ask
	for _, p := range l.policies {
		for _, q := range p.quotas {
			cell := Cell{q.space, NewKey("doctor", "")}
			asks = append(asks, Ask{Cell: cell, Rule: q.rule, When: Never, Soft: true})
		}
	}
	if len(asks) == 0 {
		return nil, nil
	}
	out := make([]Verdict, len(asks))
	_, err := l.backend.Take(ctx, l.at(), asks, out)
	for i := range out {
		err = cmp.Or(err, out[i].Err)
	}
	switch {
	case err == nil:
		return nil, nil
	case ClassOf(err) == ClassConfig:
		return []Finding{{Code: codeBackendRefuses,
			Reason: fmt.Sprintf("the backend refuses to decide, so that all requests are refused with status 503: %v", err),
			Remedy: "Correct the password, the permissions or the certificates of its client"}}, nil
	}
	return nil, fmt.Errorf("stint: doctor: %w", err)
}

// uses are the rules of all policies whose rates are fixed.
func (l *Limiter) uses() (uses []Use) {
	for _, p := range l.policies {
		for _, q := range p.quotas {
			uses = append(uses, Use{p.name, q.rule})
		}
		if p.ban != nil && !slices.Contains(p.quotas, p.ban) {
			uses = append(uses, Use{p.name, p.ban.rule})
		}
	}
	return uses
}
