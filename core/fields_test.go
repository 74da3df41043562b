package core

import "testing"

// CommonFields says what AppendField does, or nothing.
func TestCommonFieldsAreThoseOfAppendField(t *testing.T) {
	const field = `"api";q=10;w=60`
	q := &quota{policy: &policy{name: "api"}, units: 10, field: field, fieldBytes: []byte(field), left: `"api";r=`}
	common := 0
	for bit := range 64 {
		d := Decision{Allowed: bit&1 == 0, headers: HeadersDraft10, jitter: 700_000}
		d.first = entry{b: q, Judgement: Judgement{OK: bit&1 == 0, Remaining: 3, NextAfter: 1_500_000, RetryAfter: 2_000_000}}
		d.speak(&d.first)
		if bit&2 != 0 {
			d.headers |= HeadersLegacy
		}
		if bit&4 != 0 {
			d.hidden = 1 << numLimit
		}
		if bit&8 != 0 {
			d.more = []entry{d.first}
		}
		if bit&16 != 0 {
			d.RetryAfter = NoRetry
		}
		if bit&32 != 0 {
			d.first.b = nil
		}
		policy, limit, ok := d.CommonFields([]byte("x"))
		if plain := len(d.more) == 0 && d.Fields() == 1<<numPolicy|1<<numLimit; ok != plain {
			t.Errorf("%06b: ok %v of the fields %06b", bit, ok, d.Fields())
		}
		if !ok {
			continue
		}
		common++
		if p, l := d.AppendField(nil, numPolicy, nil), d.AppendField(nil, numLimit, nil); string(policy) != string(p) || string(limit) != "x"+string(l) {
			t.Errorf("%06b: %s, %s; want %s, x%s", bit, policy, limit, p, l)
		}
	}
	if common != 3 {
		t.Errorf("%d of 64 decisions are common, want 3", common)
	}
}
