package core

import (
	"fmt"
	"slices"
	"time"
)

// Where a setting begins to look like a mistake.
const (
	smallShare = 100       // units that all clients share
	longDenied = time.Hour // the window under CountDenied
	largeLog   = 1000      // units of a MovingWindow: 16 kB a key
)

// examinePolicy looks at one policy. What a policy that enforces nothing does
// wrong harms nobody.
func (l *Limiter) examinePolicy(p *policy) (found []Finding) {
	add := func(is bool, code, reason, remedy string) {
		if is {
			found = append(found, Finding{Code: code, Policy: p.name, Reason: reason, Remedy: remedy})
		}
	}
	_, inside := l.backend.(SingleTaker)
	if !p.soft {
		found = l.examineKey(p)
		add(!inside && p.failing == FailOpen && p.isGuard(), codeGuardFailsOpen,
			"it guards what is tried in bad faith, and is open while the backend is down: whoever overloads the backend tries without a limit",
			"Set OnFailure to FailClosed, or leave it out to fall back")
	}
	add(p.key.readsBody() && p.neverHasBody(), codeBodyWithoutBody,
		fmt.Sprintf("its key %v is in a body, and its Methods have none", p.key),
		"Add the method that carries the body, such as POST, or read the value from the query")
	for _, q := range p.quotas {
		add(p.when == Always && q.rate.Window > longDenied, codeCountDeniedLong,
			fmt.Sprintf("it counts refused requests, over a window of %v: a client that keeps trying is shut out as long as it tries, and one window longer", q.rate.Window),
			"Leave CountDenied out, or use it with a window of minutes")
		add(q.rule.Words() == 0 && !p.after.inFlight && q.units > largeLog, codeLogTooLarge,
			fmt.Sprintf("it remembers each of up to %d units: about %d kB for a key that is at its limit", q.units, 16*q.units/1000),
			"Use BucketedWindow, which is exact too and constant in size, or GCRA")
	}
	return found
}

// examineKey looks at whom an enforcing policy counts.
func (l *Limiter) examineKey(p *policy) (found []Finding) {
	add := func(code, reason, remedy string) {
		found = append(found, Finding{Code: code, Policy: p.name, Reason: reason, Remedy: remedy})
	}
	switch {
	case p.ban != nil && p.key.chosenAlone():
		add(codeBanChosen,
			fmt.Sprintf("it bans by %v, which the client chooses: anybody can have anybody else banned", p.key),
			"Ban by the address too: Join(ByIP, …)")
	case p.ban != nil && p.key.isShared() && p.hooks == nil:
		add(codeBanEverybody,
			fmt.Sprintf("its key %v is the same for all clients: one of them has all banned", p.key),
			"Ban by ByIP, or by what tells clients apart")
	case p.key.clientChosen() && !l.isCovered(p):
		add(codeKeyChosen,
			fmt.Sprintf("it counts by %v alone, which the client chooses: a new value is a new limit, and another's value uses up another's limit", p.key),
			"Add a policy by ByIP to this Limiter, or count by Each(ByIP, …)")
	case p.key.isShared() && p.hooks == nil && !p.after.inFlight && l.smallest(p) <= smallShare && !l.isCovered(p):
		add(codeEverybodyShares,
			fmt.Sprintf("its key %v is the same for all clients, and %d units are all they have: one of them can use them up", p.key, l.smallest(p)),
			"Count by ByIP, or add a policy that does to this Limiter")
	}
	if p.missing == MissingSkip && p.key.chosen && !(p.key.op == opEach && p.key.anchored) && !l.isCovered(p) {
		add(codeLimitAvoidable,
			fmt.Sprintf("it does not apply to requests without %v, and the client chooses whether to send that", p.key),
			"Leave Missing out, or add a policy by ByIP to this Limiter")
	}
	if p.key.op == opIP && p.key.cut.v6 > 64 {
		add(codeIPv6TooNarrow,
			fmt.Sprintf("it counts IPv6 addresses by %d bits, and whoever has one has at least 64 bits of them: a fresh limit for each", p.key.cut.v6),
			"Count by 64 bits at most")
	}
	return found
}

// smallest is the least that one of the policy's fixed rates admits at once.
func (l *Limiter) smallest(p *policy) int64 {
	least := MaxLimit
	for _, q := range p.quotas {
		least = min(least, q.units)
	}
	return least
}

// isCovered reports whether another policy, which no client can avoid, counts
// whatever p counts.
func (l *Limiter) isCovered(p *policy) bool {
	return slices.ContainsFunc(l.policies, func(q *policy) bool {
		return q != p && !q.soft && q.key.anchored && (q.missing != MissingSkip || !q.key.chosen && !q.key.needsUser) &&
			(len(q.quotas) > 0 || q.rateFunc != nil) && q.methodsInclude(p) &&
			!slices.ContainsFunc(q.except, func(route string) bool { return !slices.Contains(p.except, route) })
	})
}

func (p *policy) methodsInclude(other *policy) bool {
	if p.methods == nil {
		return true
	}
	return other.methods != nil && !slices.ContainsFunc(other.methods, func(m string) bool {
		return !slices.Contains(p.methods, m) && (isSafe(m) || !slices.Contains(p.methods, unsafeMethods))
	})
}

// isGuard reports whether the policy is about what changes something, or counts
// failures.
func (p *policy) isGuard() bool {
	return p.after.countIf != nil || p.ban != nil || p.key.readsBody() ||
		p.methods != nil && !slices.ContainsFunc(p.methods, isSafe)
}

func (p *policy) neverHasBody() bool {
	return p.methods != nil && !slices.ContainsFunc(p.methods, func(m string) bool { return m == unsafeMethods || !isSafe(m) })
}

// isPersonal reports whether the policy's keys tell people apart.
func (p *policy) isPersonal() bool { return !p.key.isShared() || p.hooks != nil }

func (p *policy) fallsBack() bool { return p.failing == Fallback && !p.soft }

// contains reports whether is holds for s or a part of it.
func (s *source) contains(is func(*source) bool) bool {
	return is(s) || slices.ContainsFunc(s.subs, func(sub *source) bool { return sub.contains(is) })
}

// isShared reports whether the key is the same whoever sends the request.
func (s *source) isShared() bool {
	return !s.contains(func(s *source) bool { return s.op == opIP || s.op == opValue })
}

// readsBody reports whether a part of the key is in the body.
func (s *source) readsBody() bool {
	return s.contains(func(s *source) bool { return s.kind == KindForm || s.kind == KindJSON })
}

// chosenAlone is clientChosen for what hits a key: each identity of Each is hit by
// itself.
func (s *source) chosenAlone() bool {
	if s.op == opEach {
		return slices.ContainsFunc(s.subs, (*source).clientChosen)
	}
	return s.clientChosen()
}
