package core

import (
	"iter"
	"math/rand/v2"
	"time"
)

// A Decision says what becomes of a request and how its quotas stand. Being
// refused is a Decision; an error means that something broke. It is a value,
// keeps no memory of the request, and is safe to keep and to share.
//
// With several rates the figures are those of the entry that matters most: the
// refusing one with the longest wait, otherwise the one with the least remaining.
type Decision struct {
	// Allowed: every enforcing policy admits the request, or none applies.
	Allowed bool
	// Limited: some policy is over its limit, annotating ones included. The
	// handler of an annotating policy looks here.
	Limited bool
	// Degraded: the backend could not decide for every policy, and Cause is the
	// class of the first error. What then decided is in the Entries.
	Degraded bool
	Cause    Class
	// Denied: the DenyList names the client or one of its keys. No policy was asked.
	Denied bool
	// Banned: the policy that the figures are from has banned the client, before
	// or with this refusal.
	Banned bool
	// Policy is the name of the policy that the figures are from; "" when no
	// policy applied to the request.
	Policy string
	// Limit is the most that can be admitted at once: the rate's limit, or the
	// burst. Remaining is what would be admitted right now, and 0 where nobody
	// knows: see Entry.Err.
	Limit, Remaining int64
	// RetryAfter of a policy that is over its limit is a promise: wait exactly
	// that long, send a request of the same cost, and with no other traffic it is
	// admitted. 0 unless Limited; NoRetry when waiting does not help. Of a request
	// that is refused because the backend is down it is a guess.
	RetryAfter time.Duration
	// NextAfter is the wait until more than Remaining is admitted; ResetAfter
	// until nothing that was consumed counts any more.
	NextAfter, ResetAfter time.Duration

	first      entry
	more       []entry // the entries after the first
	now        int64
	jitter     int64 // microseconds added to the waits that a refused client is told
	headers    Headers
	hidden     uint8 // bit i: the i-th header field is not sent
	closed     bool  // it could not be decided, and is refused for that
	disallowed func(Request, Decision) Response
}

// NoRetry is the RetryAfter of a request that no waiting makes admissible.
const NoRetry = time.Duration(Forever)

// An Entry is how one rate of one policy, for one identity, judged the request.
type Entry struct {
	Policy string // the policy's name
	Item   string // the name in the header fields: the policy's, with "-1m" when it has several rates
	Rate   Rate
	// Ban: this is the policy's ban. Its Rate, Limit and Remaining are strikes.
	Ban bool
	// Allowed is this entry's own judgement; Soft entries (annotate) have no
	// say in the Decision.
	Allowed, Soft bool
	// Limit, Remaining, RetryAfter, NextAfter and ResetAfter are as in Decision.
	Limit, Remaining                  int64
	RetryAfter, NextAfter, ResetAfter time.Duration
	// Err tells why the backend could not decide the entry. Fallback: the fallback
	// did, and the figures are its own. Otherwise there are none, and Allowed is
	// what the policy's OnFailure says, or false for an error that no policy
	// forgives.
	Err      error
	Fallback bool
}

// entry is an Entry as it is stored: the constant part by reference.
type entry struct {
	Judgement
	b        *quota
	soft     bool
	fallback bool // decided by it
	began    bool // of a ban: with this refusal
	err      error
}

// Entries yields one entry per rate and identity, in the order of the policies.
func (d Decision) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range d.len() {
			if !yield(d.at(i).export()) {
				return
			}
		}
	}
}

func (d *Decision) len() int {
	if d.first.b == nil {
		return 0
	}
	return 1 + len(d.more)
}

func (d *Decision) at(i int) *entry {
	if i == 0 {
		return &d.first
	}
	return &d.more[i-1]
}

// add appends an entry.
func (d *Decision) add(e entry) {
	if d.first.b == nil {
		d.first = e
	} else {
		d.more = append(d.more, e)
	}
}

func (e *entry) export() Entry {
	return Entry{
		Policy: e.b.policy.name, Item: e.b.item, Rate: e.b.rate, Ban: e.b.ban,
		Allowed: e.OK, Soft: e.soft, Limit: e.b.units, Remaining: e.Remaining,
		RetryAfter: micros(e.RetryAfter), NextAfter: micros(e.NextAfter), ResetAfter: micros(e.ResetAfter),
		Err: e.err, Fallback: e.fallback,
	}
}

// micros turns microseconds into a Duration; what does not fit is NoRetry.
func micros(us int64) time.Duration {
	if us > int64(NoRetry)/1000 {
		return NoRetry
	}
	return time.Duration(us) * time.Microsecond
}

// decided reports whether somebody looked at the entry's cell.
func (e *entry) decided() bool { return e.err == nil || e.fallback }

// sum fills the summary from the entries: who speaks for the decision, and
// whether it admits.
func (d *Decision) sum() {
	d.Allowed = true
	var speaker *entry
	for i := range d.len() {
		e := d.at(i)
		if !e.OK {
			d.Limited = d.Limited || e.decided() // what could not be decided annotates nothing
			d.Allowed = d.Allowed && e.soft
		}
		if speaker == nil || e.outweighs(speaker) {
			speaker = e
		}
	}
	if speaker == nil {
		return
	}
	d.speak(speaker)
	for i := range d.len() {
		if e := d.at(i); e.b.ban && e.b.policy == speaker.b.policy {
			d.Banned = d.Banned || e.refused()
		}
	}
}

func (d *Decision) speak(e *entry) {
	d.Policy, d.Limit, d.Remaining = e.b.policy.name, e.b.units, e.Remaining
	d.NextAfter, d.ResetAfter = micros(e.NextAfter), micros(e.ResetAfter)
	if !e.OK {
		d.RetryAfter = micros(e.RetryAfter)
	}
}

// spread draws the jitter of a refusal, of the window that has it wait, or of the
// rest of a ban.
func (d *Decision) spread() {
	for i := range d.len() {
		if e := d.at(i); e.b.policy.name == d.Policy && micros(e.RetryAfter) == d.RetryAfter {
			window := e.b.rate.Window.Microseconds()
			if e.b.ban {
				window = e.RetryAfter
			}
			d.jitter = rand.Int64N(window/10 + 1)
			return
		}
	}
}

// outweighs reports whether e rather than f speaks for the decision: a refusal
// that counts before one that does not, before none, before what nobody decided;
// then the longest wait, or the least remaining.
func (e *entry) outweighs(f *entry) bool {
	if a, b := e.rank(), f.rank(); a != b {
		return a > b
	}
	if !e.OK {
		return e.RetryAfter > f.RetryAfter
	}
	return e.Remaining < f.Remaining
}

func (e *entry) rank() int {
	switch {
	case e.OK && e.b.ban, !e.decided() && (e.OK || e.soft):
		return 0
	case e.OK:
		return 1
	case e.soft:
		return 2
	}
	return 3
}
