package core

import (
	"iter"
	"strconv"
)

// Headers says which header fields a Limiter sends. The values can be combined.
// They are named by draft number, so that an update of this library never
// changes what is sent.
type Headers uint8

const (
	// HeadersDraft10 sends RateLimit-Policy and RateLimit as in
	// draft-ietf-httpapi-ratelimit-headers-10. The zero Headers means this.
	HeadersDraft10 Headers = 1 << iota
	// HeadersLegacy sends X-RateLimit-Limit, -Remaining and -Reset, the last as
	// Unix time in seconds, for the rate that matters most.
	HeadersLegacy
	// HeadersNone sends none of these. Retry-After is sent with every refusal all the same.
	HeadersNone
)

// The field names in the canonical form of net/http.
const (
	fieldPolicy     = "Ratelimit-Policy"
	fieldLimit      = "Ratelimit"
	fieldRetryAfter = "Retry-After"
	fieldXLimit     = "X-Ratelimit-Limit"
	fieldXRemaining = "X-Ratelimit-Remaining"
	fieldXReset     = "X-Ratelimit-Reset"
)

// The fields by number, in the order in which they are sent.
const (
	numPolicy = iota
	numLimit
	numXLimit
	numXRemaining
	numXReset
	numRetryAfter
	// MaxFields is how many header fields a Decision has at most: they are
	// numbered below that.
	MaxFields
)

var fieldNames = [MaxFields]string{fieldPolicy, fieldLimit, fieldXLimit, fieldXRemaining, fieldXReset, fieldRetryAfter}

// FieldName is the name of the i-th header field of the decision, "" where that
// one is not sent.
func (d *Decision) FieldName(i int) string {
	sent := false
	switch {
	case d.first.b == nil:
	case i <= numLimit:
		sent = d.headers&HeadersDraft10 != 0
	case i <= numXReset:
		sent = d.headers&HeadersLegacy != 0
	default:
		sent = d.retrySeconds() > 0
	}
	if !sent || d.hidden>>i&1 != 0 {
		return ""
	}
	return fieldNames[i]
}

// hide keeps back the fields of which there are no figures: of any entry or, for
// those without names, of the one that speaks.
func (d *Decision) hide() {
	d.hidden = 1<<numLimit | 1<<numXLimit | 1<<numXRemaining | 1<<numXReset
	for i := range d.len() {
		if e := d.at(i); e.decided() {
			d.hidden &^= 1 << numLimit
			if e.b.policy.name == d.Policy {
				d.hidden = 0
			}
		}
	}
}

// AppendField appends the value of the i-th header field to b. old is what the
// response has in that field already: where a limiter stacked before has left
// its own list, the two are joined, so that a field is sent once.
func (d *Decision) AppendField(b []byte, i int, old []byte) []byte {
	switch i {
	case numPolicy:
		return d.appendPolicy(append(b, old...))
	case numLimit:
		return d.appendLimit(append(b, old...))
	case numXLimit:
		return strconv.AppendInt(b, d.Limit, 10)
	case numXRemaining:
		return strconv.AppendInt(b, d.Remaining, 10)
	case numXReset:
		return strconv.AppendInt(b, d.resetAt(), 10)
	}
	return strconv.AppendInt(b, d.retrySeconds(), 10)
}

// Header yields the header fields of the decision, each name once. Adapters send
// them with every response, before its first byte.
func (d Decision) Header() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range MaxFields {
			if name := d.FieldName(i); name != "" && !yield(name, string(d.AppendField(nil, i, nil))) {
				return
			}
		}
	}
}

// WriteHeader writes the fields into h, which is an http.Header in all but name.
// Lists that a limiter stacked before has left are joined.
func (d *Decision) WriteHeader(h map[string][]string) {
	if d.first.b == nil {
		return
	}
	if d.headers == HeadersDraft10 && d.hidden == 0 && len(h[fieldPolicy]) == 0 {
		d.writeDraft10(h)
		return
	}
	for i := range MaxFields {
		if name := d.FieldName(i); name != "" {
			var old []byte
			if lines := h[name]; len(lines) > 0 {
				old = []byte(lines[0])
			}
			h[name] = []string{string(d.AppendField(nil, i, old))}
		}
	}
}

// writeDraft10 is WriteHeader for the common case, with one allocation for the
// text and one for the slices: they are most of what a middleware costs.
func (d *Decision) writeDraft10(h map[string][]string) {
	var buf [128]byte
	b := d.appendLimit(buf[:0])
	n := len(b)
	retry := d.retrySeconds()
	if retry > 0 {
		b = strconv.AppendInt(b, retry, 10)
	}
	text := string(b)
	v := []string{d.policyField(), text[:n], text[n:]}
	h[fieldPolicy], h[fieldLimit] = v[0:1:1], v[1:2:2]
	if retry > 0 {
		h[fieldRetryAfter] = v[2:3:3]
	}
}

// policyField is constant for a single rate; several are joined.
func (d *Decision) policyField() string {
	if len(d.more) == 0 {
		return d.first.b.field
	}
	return string(d.appendPolicy(nil))
}

// appendPolicy appends the RateLimit-Policy field, one item per rate.
func (d *Decision) appendPolicy(b []byte) []byte {
	for i := range d.len() {
		if !d.overshadowed(i) {
			b = append(separate(b), d.at(i).b.field...)
		}
	}
	return b
}

// appendLimit appends the RateLimit field: per rate its name, what remains, and
// the seconds until more is available. Where a policy limits several identities,
// that is the one that matters most.
func (d *Decision) appendLimit(b []byte) []byte {
	for i := range d.len() {
		if e := d.at(i); e.decided() && !d.overshadowed(i) {
			b = e.appendLimit(separate(b), d.jitter)
		}
	}
	return b
}

// separate begins another item of the list in b.
func separate(b []byte) []byte {
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	return b
}

func (e *entry) appendLimit(b []byte, jitter int64) []byte {
	b = append(b, e.b.quoted...)
	b = append(b, ";r="...)
	b = strconv.AppendInt(b, e.Remaining, 10)
	if next := e.NextAfter; next > 0 && next != Forever {
		b = append(b, ";t="...)
		b = strconv.AppendInt(b, seconds(next+jitter), 10)
	}
	return b
}

// overshadowed reports whether another entry of the same rate matters more than
// the i-th, or as much and comes first.
func (d *Decision) overshadowed(i int) bool {
	e := d.at(i)
	for j := range d.len() {
		f := d.at(j)
		if j != i && f.b == e.b && (f.outweighs(e) || j < i && !e.outweighs(f)) {
			return true
		}
	}
	return false
}

// retrySeconds is the Retry-After of a refusal: whole seconds, rounded up, 1 at
// least; 0 when none is sent.
func (d *Decision) retrySeconds() int64 {
	if d.Allowed || d.RetryAfter == NoRetry {
		return 0
	}
	return max(1, seconds(d.RetryAfter.Microseconds()+d.jitter))
}

// resetAt is the Unix time in seconds, rounded up, when the speaking rate is
// back to its full quota.
func (d *Decision) resetAt() int64 {
	if d.ResetAfter == NoRetry {
		return maxInteger
	}
	return seconds(d.now + d.ResetAfter.Microseconds())
}

// maxInteger is the largest integer of a structured field (RFC 9651): 15 digits.
const maxInteger = 999_999_999_999_999

// seconds rounds microseconds up.
func seconds(us int64) int64 { return us/1e6 + min(1, us%1e6) }
