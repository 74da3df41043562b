package core

import "time"

// A Ban refuses an identity for a while after it was refused too often: a part
// of a Policy, decided in the same atomic step as its rates. What is refused
// during a ban neither prolongs it nor, without CountDenied, counts against anything.
//
// A strike is a request that the Limiter refused while the policy applied to it,
// or one that failed. Where a policy limits several identities (Each), all of them
// are struck. A request that lacks a value its policies insist on (MissingRefuse) is
// refused without a strike.
// Strikes are counted in windows of Within, each from its first strike: at most
// 2*After-2 of them fall within such a time without a ban.
//
// A ban hits whoever the key names. Never key it by what a client chooses alone,
// such as the name in a login form: anybody could have anybody else banned. The
// user's name together with the address keeps a victim's usual way open.
type Ban struct {
	// Failures: strikes are the requests that count by Policy.CountIf, instead of
	// those that are refused. During a ban everything is refused all the same. As
	// nobody knows them before the response, as many as the rate admits can be on
	// their way at once before the first strike.
	Failures bool
	// After is how many strikes lead to a ban, 1 to MaxLimit.
	After int64
	// Within is the time in which they fall; 1 ms to 366 days.
	Within time.Duration
	// For is the length of the first ban; 1 ms to 366 days.
	For time.Duration
	// Max is the length of the longest. Each ban that follows another is twice as
	// long as that, up to Max. 0 is For: all are equally long. At most 366 days.
	Max time.Duration
	// Forgive is the time after the end of a ban without another, after which the
	// next one is a first one again. 0 is Max. At most 366 days.
	Forgive time.Duration
}

const banName = "ban"

// bind checks the settings; its error is everything that is wrong with them.
func (b Ban) bind() (*banRule, error) {
	complain, complaints := complaintsOf(banName)
	if b.After < 1 || b.After > MaxLimit {
		complain("After %d is out of range: use 1 to %d strikes", b.After, MaxLimit)
	}
	if b.Max == 0 {
		b.Max = b.For
	}
	if b.Forgive == 0 {
		b.Forgive = b.Max
	}
	longest := time.Duration(MaxWindow) * time.Microsecond
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Within", b.Within}, {"For", b.For}, {"Max", b.Max}, {"Forgive", b.Forgive}} {
		if d.value < time.Millisecond || d.value > longest {
			complain("%s %v is out of range: use 1ms to %v", d.name, d.value, longest)
		} else if d.value%time.Microsecond != 0 {
			complain("%s %v is not a whole number of microseconds: round it", d.name, d.value)
		}
	}
	if b.Max < b.For {
		complain("Max %v is shorter than For %v: leave it out, or make it longer", b.Max, b.For)
	}
	return &banRule{after: b.After, within: b.Within.Microseconds(), first: b.For.Microseconds(),
		longest: b.Max.Microseconds(), forgive: b.Forgive.Microseconds()}, complaints()
}

// banRule keeps [begin of the window of strikes, strikes in it, end of the latest
// ban, bans in a row]. A cost is a number of strikes. What it judges is not the
// cost but whether there is a ban.
type banRule struct {
	after                           int64 // strikes
	within, first, longest, forgive int64 // microseconds
}

// Shape implements Rule. The window of the cell is Within; all other settings can
// be changed without lifting bans.
func (r *banRule) Shape() string { return banName }

// Quota implements Rule.
func (r *banRule) Quota() (units, window int64) { return r.after, r.within }

// Words implements Rule.
func (r *banRule) Words() int { return 4 }

// Decide implements Rule. Where there is no ban the figures are those after cost
// strikes: Remaining is how many more there may be, and NextAfter the ban that
// the last of them begins.
func (r *banRule) Decide(s State, now, _, cost int64) (v Judgement) {
	if now < s[2] {
		v.RetryAfter, v.NextAfter = s[2]-now, s[2]-now
		v.ResetAfter = r.Until(s) - now
		return v
	}
	v.OK = true
	after := [4]int64{s[0], s[1], s[2], s[3]}
	r.strike(after[:], now, cost)
	if now < after[2] {
		v.NextAfter = after[2] - now
	} else {
		v.Remaining = max(0, r.after-r.strikes(after[:], now)) // After may have been lower since
	}
	v.ResetAfter = max(0, r.Until(after[:])-now)
	return v
}

// strikes are those that still count at now.
func (r *banRule) strikes(s State, now int64) int64 {
	if now >= s[0]+r.within {
		return 0
	}
	return s[1]
}

// Charge implements Rule. A strike can not be taken back: the receipt is zero.
func (r *banRule) Charge(s State, now, _, cost int64) (State, Receipt) {
	r.strike(s, now, cost)
	return s, Receipt{}
}

// Settle implements Rule: debt is a number of strikes.
func (r *banRule) Settle(s State, now, _ int64, _ Receipt, delta int64) State {
	r.strike(s, now, max(0, delta))
	return s
}

// strike counts, and begins a ban when that is enough. During one it does nothing.
func (r *banRule) strike(s State, now, n int64) {
	if n == 0 || now < s[2] {
		return
	}
	if now >= s[2]+r.forgive {
		s[2], s[3] = 0, 0
	}
	if s[1] = r.strikes(s, now); s[1] == 0 {
		s[0] = now
	}
	if s[1] += owed(s[1], n); s[1] >= r.after {
		s[2] = max(now, s[0]) + r.length(s[3])
		s[3]++
		s[0], s[1] = 0, 0
	}
}

// length is that of the ban after so many in a row.
func (r *banRule) length(before int64) int64 {
	d := r.first
	for ; before > 0 && d < r.longest; before-- {
		d *= 2
	}
	return min(d, r.longest)
}

// Until implements Rule.
func (r *banRule) Until(s State) (end int64) {
	if s[1] > 0 {
		end = s[0] + r.within
	}
	if s[2] > 0 {
		end = max(end, s[2]+r.forgive)
	}
	return end
}

// banByHand sets a ban of the given length, whatever there was before; those in a
// row stay as many as they were. It is settled, never asked, and has no Program.
type banByHand struct {
	rule   *banRule
	length int64 // microseconds
}

func (b banByHand) Shape() string                { return b.rule.Shape() }
func (b banByHand) Quota() (units, window int64) { return b.rule.Quota() }
func (b banByHand) Words() int                   { return b.rule.Words() }
func (b banByHand) Decide(s State, now, phase, cost int64) Judgement {
	return b.rule.Decide(s, now, phase, cost)
}
func (b banByHand) Charge(s State, _, _, _ int64) (State, Receipt) { return s, Receipt{} }
func (b banByHand) Until(s State) int64                            { return b.rule.Until(s) }
func (b banByHand) Settle(s State, now, _ int64, _ Receipt, _ int64) State {
	s[0], s[1], s[2] = 0, 0, now+b.length
	return s
}
