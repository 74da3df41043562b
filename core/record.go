package core

// A DenialRecorder is a Hooks that writes down who was refused what, for an audit
// log. RecordDenial is called for every identity that its policy refused, with
// the rate that has it wait the longest, also where another policy renders the
// answer or the policy only annotates (Entry.Soft). It is called after the
// decision and before the response: it must not wait for anything.
//
// key is the identity as it was counted, in clear: write down Naming.DigestOf of
// it, which is also its tag in the store when the secrets are the same. It refers
// to the request's memory; to keep it, Clone it. It is the zero Key where the
// request lacks the value that the policy insists on (MissingRefuse).
type DenialRecorder interface {
	RecordDenial(r Request, e Entry, key Key)
}

// record tells the recorders of a refusal. An entry that nobody decided is none.
func (c *call) record(d *Decision) {
	for i := range d.len() {
		e := d.at(i)
		if p := e.b.policy; p.recorder != nil && e.refused() && !c.repeated(d, i) {
			p.recorder.RecordDenial(&c.req, e.export(), c.keyOf(d, i))
		}
	}
}

func (e *entry) refused() bool { return !e.OK && e.decided() }

// repeated reports whether another rate refused the i-th entry's identity under
// the same policy for longer, or for as long and comes first.
func (c *call) repeated(d *Decision, i int) bool {
	e := d.at(i)
	for j := range d.len() {
		f := d.at(j)
		if j != i && f.b.policy == e.b.policy && f.refused() && c.keyOf(d, j) == c.keyOf(d, i) &&
			(f.outweighs(e) || j < i && !e.outweighs(f)) {
			return true
		}
	}
	return false
}

// keyOf is the key of the i-th entry. Those of policies that lack a value come
// last and have none.
func (c *call) keyOf(d *Decision, i int) Key {
	if i < d.len()-len(c.lacking) {
		return c.asks[i].Cell.Key
	}
	return Key{}
}
