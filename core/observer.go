package core

import (
	"fmt"
	"strings"
)

// An Observer is told what a Limiter does, for metrics and logs: see Config.Observer
// and NewLogObserver. Observe is called in the request's goroutine, outside of any
// lock, after the decision and before the response: it must be safe for concurrent
// use and wait for nothing. What it panics with is swallowed and logged.
type Observer interface{ Observe(e Event) }

// EventKind says what has happened, and which fields of an Event are set.
type EventKind uint8

const (
	// EventDecided: a request, or a question from outside of one, was decided. Its
	// Decision says everything. Looks are no decisions.
	EventDecided EventKind = iota + 1
	// EventRefused: a policy refused an identity, or would have if it did not only
	// annotate. Entry is of the rate that has it wait the longest. It follows the
	// EventDecided, one for each policy and identity.
	EventRefused
	// EventBanned: a ban of an identity has begun. Entry is the ban's, and has only
	// Policy and RetryAfter where it was set by hand. Failures are settled without
	// an answer: of a ban that they lead to, only the refusals are told.
	EventBanned
	// EventSettled: a charge was corrected by Units, which are below 0 where it was
	// given back.
	EventSettled
	// EventDisagreed: a candidate, or a policy in Mode Shadow, would have decided
	// otherwise; Allowed is what it would have said.
	EventDisagreed
	// EventFailed: Err says what broke. Policy is "" where it is nobody's own.
	EventFailed
	// EventMode: a policy began to decide without its backend as its OnFailure says,
	// or is back: Degraded and Mode. Err is the failure that it began with.
	EventMode
)

var eventNames = [...]string{"", "decided", "refused", "banned", "settled", "disagreed", "failed", "mode"}

// String is the kind as one lower-case word, such as "refused".
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return ""
}

// An Event is something that has happened. It keeps nothing of a request's memory
// but its key, which is read by Identity: call that before Observe returns.
type Event struct {
	Kind     EventKind   // what has happened: it says which of the others are set
	Policy   string      // the policy's name
	Decision Decision    // of EventDecided
	Entry    Entry       // of EventRefused and EventBanned
	Units    int64       // of EventSettled
	Allowed  bool        // of EventDisagreed: what the shadow would have said
	Degraded bool        // of EventMode: the policy decides without its backend from now on
	Mode     FailureMode // of EventMode
	Err      error       // of EventFailed and EventMode

	key    Key
	naming *Naming
}

// Identity is a pseudonym of who it is about, the tag of its cells in a store: the
// same for all policies, and nothing that can be read back where Config.Secret is
// set. "" where the event is about nobody in particular.
func (e Event) Identity() string {
	if e.naming == nil {
		return ""
	}
	return e.naming.DigestOf(&e.key).String()
}

// String is its kind, its policy and its identity: no key, whoever prints it.
func (e Event) String() string {
	return strings.TrimSpace(e.Kind.String() + " " + e.Policy + " " + e.Identity())
}

// tell has the Observer observe e.
func (l *Limiter) tell(e Event) {
	if l.config.Observer == nil {
		return
	}
	var err error
	defer func() {
		if err != nil {
			l.complain.about(err)
		}
	}()
	defer recoverAll(&err)
	l.config.Observer.Observe(e)
}

// about is an event about the identity of k.
func (l *Limiter) about(kind EventKind, p *policy, k Key) Event {
	return Event{Kind: kind, Policy: p.name, key: k, naming: p.binder.naming}
}

// decided tells of a decision.
func (l *Limiter) decided(d *Decision) {
	if l.config.Observer != nil {
		l.tell(Event{Kind: EventDecided, Policy: d.Policy, Decision: *d})
	}
}

// observe tells of a decision that was made of c, if err does not say that none was.
func (l *Limiter) observe(c *call, d *Decision, err error) {
	if l.config.Observer == nil || c.look || err != nil && !d.closed {
		return
	}
	l.decided(d)
	for i := range d.len() {
		e := d.at(i)
		if e.refused() && !c.repeated(d, i) {
			event := l.about(EventRefused, e.b.policy, c.keyOf(d, i))
			event.Entry = e.export()
			l.tell(event)
		}
		if e.began {
			event := l.about(EventBanned, e.b.policy, c.keyOf(d, i))
			event.Entry = e.export()
			l.tell(event)
		}
	}
}

// failed tells of an error of the named policy, or of "" for nobody's own, and has
// it logged.
func (l *Limiter) failed(policy string, err error) {
	l.tell(Event{Kind: EventFailed, Policy: policy, Err: err})
	if policy != "" {
		err = fmt.Errorf("policy %s: %w", policy, err)
	}
	l.complain.about(err)
}
