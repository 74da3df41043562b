package core

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// company knows, of requests in flight that are looked at, which Limiters they
// have met: two that charge the same cell charge it twice.
var company = struct {
	mu   sync.Mutex
	seen map[uintptr][]*Limiter
}{seen: map[uintptr][]*Limiter{}}

// lookAtOthers looks for Limiters that the request has met before this one. Leave
// forgets it.
func (l *Limiter) lookAtOthers(n Native, v *Visit) {
	if v.token == 0 {
		return
	}
	v.looked = true
	company.mu.Lock()
	others := company.seen[v.token]
	company.seen[v.token] = append(slices.Clone(others), l)
	company.mu.Unlock()
	for _, other := range others {
		if !sameBackend(l.backend, other.backend) || l.config.Prefix != other.config.Prefix {
			continue
		}
		for _, p := range l.policies {
			q := other.byName[p.name]
			l.watch.add(q != nil && p.applies(n) && q.applies(n) && p.sharesCells(q), Finding{Code: codeCountedTwice, Policy: p.name,
				Reason: "a request met two Limiters with a policy of this name on one backend: it was charged twice, to the same counter",
				Remedy: "Mount one Limiter twice instead of two, or give the policies different names"})
		}
	}
}

func (l *Limiter) leaveCompany(token uintptr) {
	company.mu.Lock()
	defer company.mu.Unlock()
	rest := slices.DeleteFunc(company.seen[token], func(other *Limiter) bool { return other == l })
	if len(rest) == 0 {
		delete(company.seen, token)
		return
	}
	company.seen[token] = rest
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
