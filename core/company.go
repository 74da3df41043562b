package core

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// company knows, of requests in flight that are looked at, which Limiters they
// have met: two that charge the same cell charge it twice.
var company struct {
	mu   sync.Mutex
	seen []meeting
}

type meeting struct {
	token   uintptr
	limiter *Limiter
}

// lookAtOthers looks for Limiters that the request has met before this one. Leave
// forgets it.
func (l *Limiter) lookAtOthers(n Native, v *Visit) {
	if v.token == 0 {
		return
	}
	v.looked = true
	company.mu.Lock()
	defer company.mu.Unlock()
	for _, m := range company.seen {
		if m.token == v.token {
			l.meet(m.limiter, n)
		}
	}
	company.seen = append(company.seen, meeting{v.token, l})
}

// meet looks for policies that two Limiters have in common.
func (l *Limiter) meet(other *Limiter, n Native) {
	if !sameBackend(l.backend, other.backend) || l.config.Prefix != other.config.Prefix {
		return
	}
	for _, p := range l.policies {
		if q := other.byName[p.name]; q != nil && p.applies(n) && q.applies(n) && p.sharesCells(q) {
			l.watch.add(true, Finding{Code: codeCountedTwice, Policy: p.name,
				Reason: "a request met two Limiters with a policy of this name on one backend: it was charged twice, to the same counter",
				Remedy: "Mount one Limiter twice instead of two, or give the policies different names"})
		}
	}
}

func (l *Limiter) leaveCompany(token uintptr) {
	company.mu.Lock()
	defer company.mu.Unlock()
	company.seen = slices.DeleteFunc(company.seen, func(m meeting) bool { return m == meeting{token, l} })
}

// sharesCells reports whether two policies of one name count alike.
func (p *policy) sharesCells(other *policy) bool {
	return p.key.text == other.key.text && slices.ContainsFunc(p.quotas, func(a *quota) bool {
		return slices.ContainsFunc(other.quotas, func(b *quota) bool { return a.space.id == b.space.id })
	})
}

// manyBirths is how many Limiters of the same policies, each of which met one
// request and no other, are no coincidence.
const manyBirths = 50

// births counts such Limiters, by the names of their policies.
var births = birthRegister{inRow: map[string]int{}}

type birthRegister struct {
	mu    sync.Mutex
	inRow map[string]int
}

const maxBirths = 256 // names; beyond that, those known are forgotten

// seen notes that l meets its first or second request, and reports whether a
// Limiter is made for each.
func (b *birthRegister) seen(l *Limiter, request int) bool {
	var names strings.Builder
	for _, p := range l.policies {
		names.WriteString(p.name)
		names.WriteByte(' ')
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if request > 1 || time.Since(l.watch.made) > time.Second {
		delete(b.inRow, names.String())
		return false
	}
	if len(b.inRow) >= maxBirths {
		clear(b.inRow)
	}
	b.inRow[names.String()]++
	return b.inRow[names.String()] == manyBirths
}
