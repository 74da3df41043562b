package core

import (
	"iter"
	"math/bits"
	"strconv"
	"unsafe"
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

// FieldName is the name of the i-th header field that a decision can have.
func FieldName(i int) string { return fieldNames[i] }

// Fields are the header fields of the decision by number: bit i stands for the
// i-th.
func (d *Decision) Fields() (sent uint8) {
	if d.first.b == nil {
		return 0
	}
	if d.headers&HeadersDraft10 != 0 {
		sent = 1<<numPolicy | 1<<numLimit
	}
	if d.headers&HeadersLegacy != 0 {
		sent |= 1<<numXLimit | 1<<numXRemaining | 1<<numXReset
	}
	if d.sendsRetry() {
		sent |= 1 << numRetryAfter
	}
	return sent &^ d.hidden
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

// CommonFields are RateLimit-Policy and, appended to b, RateLimit of a decision
// that sends just these two and is of one rate, as most are: AppendField in one
// step. They are the fields 0 and 1. The policy is not to be changed. ok is false for
// all other decisions.
func (d *Decision) CommonFields(b []byte) (policy, limit []byte, ok bool) {
	if d.first.b == nil || len(d.more) > 0 || d.headers != HeadersDraft10 || d.hidden != 0 || d.sendsRetry() {
		return nil, nil, false
	}
	return d.first.b.fieldBytes, d.first.appendLimit(b, d.jitter), true
}

// Header yields the header fields of the decision, each name once. Adapters send
// them with every response, before its first byte.
func (d Decision) Header() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for sent := d.Fields(); sent != 0; sent &= sent - 1 {
			i := bits.TrailingZeros8(sent)
			if !yield(fieldNames[i], string(d.AppendField(nil, i, nil))) {
				return
			}
		}
	}
}

// WriteHeader writes the fields into h, which is an http.Header in all but name.
// Lists that a limiter stacked before has left are joined.
func (d *Decision) WriteHeader(h map[string][]string) {
	if d.first.b != nil && d.headers == HeadersDraft10 && d.hidden == 0 && len(h[fieldPolicy]) == 0 {
		d.writeDraft10(h)
		return
	}
	d.writeFields(h)
}

// writeFields is WriteHeader for all cases.
func (d *Decision) writeFields(h map[string][]string) {
	var buf [64]byte
	for sent := d.Fields(); sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros8(sent)
		var old []byte
		if lines := h[fieldNames[i]]; i <= numLimit && len(lines) > 0 {
			old = []byte(lines[0])
		}
		h[fieldNames[i]] = []string{string(d.AppendField(buf[:0], i, old))}
	}
}

// writeDraft10 is WriteHeader for the common case: what is allocated there is
// most of what a middleware costs.
func (d *Decision) writeDraft10(h map[string][]string) {
	var buf [128]byte
	b := d.appendLimit(buf[:0])
	n := len(b)
	retry := d.sendsRetry()
	if retry {
		b = strconv.AppendInt(b, d.retrySeconds(), 10)
	}
	v, text := linesOf(b, retry)
	v[0], v[1] = d.policyField(), text[:n]
	h[fieldPolicy], h[fieldLimit] = v[0:1:1], v[1:2:2]
	if retry {
		v[2] = text[n:]
		h[fieldRetryAfter] = v[2:3:3]
	}
}

// linesOf is room for three lines, or for two where no retry is sent, and text as
// a string. Where text is as short as it mostly is, one allocation holds both:
// nobody writes to that memory any more once it is a string, and the lines are
// the response's own, for other middleware to change.
func linesOf(text []byte, retry bool) (lines []string, s string) {
	if len(text) > shortText {
		return make([]string, 3), string(text)
	}
	var short *[shortText]byte
	if retry {
		l := new(struct {
			lines [3]string
			text  [shortText]byte
		})
		lines, short = l.lines[:], &l.text
	} else {
		l := new(struct {
			lines [2]string
			text  [shortText]byte
		})
		lines, short = l.lines[:], &l.text
	}
	return lines, unsafe.String(&short[0], copy(short[:], text))
}

const shortText = 32

// policyField is constant for a single rate; several are joined.
func (d *Decision) policyField() string {
	if len(d.more) == 0 {
		return d.first.b.field
	}
	return string(d.appendPolicy(nil))
}

// appendPolicy appends the RateLimit-Policy field, one item per rate.
func (d *Decision) appendPolicy(b []byte) []byte {
	if d.len() == 1 {
		return append(separate(b), d.first.b.field...)
	}
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
	if d.len() == 1 {
		return d.first.appendLimit(separate(b), d.jitter)
	}
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
	b = append(b, e.b.left...)
	b = strconv.AppendInt(b, e.Remaining, 10)
	if next := e.NextAfter; next > 0 && next != Forever {
		b = append(b, ";t="...)
		b = strconv.AppendInt(b, seconds(next+jitter), 10)
	}
	return b
}

// overshadowed reports whether the i-th entry is left out of the lists: another of
// the same rate matters more, or as much and comes first; or it is a ban.
func (d *Decision) overshadowed(i int) bool {
	e := d.at(i)
	if e.b.ban {
		return true // it is no quota
	}
	for j := range d.len() {
		f := d.at(j)
		if j != i && f.b == e.b && (f.outweighs(e) || j < i && !e.outweighs(f)) {
			return true
		}
	}
	return false
}

// sendsRetry reports whether a Retry-After is sent: with a refusal that ends.
func (d *Decision) sendsRetry() bool { return !d.Allowed && d.RetryAfter != NoRetry }

// retrySeconds is the Retry-After of a refusal: whole seconds, rounded up, 1 at
// least.
func (d *Decision) retrySeconds() int64 {
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
