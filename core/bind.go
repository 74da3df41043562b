package core

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// binder makes quotas of one policy: validation, division and the name of the
// cells, once per rate.
type binder struct {
	policy   *policy
	strategy Strategy
	naming   *Naming
	phase    func(Cell) int64
	ban      *quota // asked along with the rates, or nil
	shadow   bool   // the policy's Mode
	// instances share the rates while the backend is down.
	instances int64

	// rates by function come back again and again; each is quota once. The map
	// is bounded: a function that makes up a new rate for every request pays for
	// it, not the process's memory.
	mu    sync.RWMutex
	cache map[string]*binding
}

type binding struct {
	list []*quota
	err  error
}

const maxCachedRates = 1024

// zeroRate stands in for the zero Rate, which has no window to speak of.
var zeroRate = Rate{Window: time.Second}

// bind makes the quotas of one list of rates.
func (b *binder) bind(rates Rates) ([]*quota, error) {
	list := make([]*quota, 0, len(rates))
	for i, r := range rates {
		if r == (Rate{}) {
			r = zeroRate
		}
		for _, other := range rates[:i] {
			if other.Window == r.Window {
				return nil, fmt.Errorf("rates %v and %v have equal windows: keep the stricter one", other, r)
			}
		}
		rule, err := b.strategy.Bind(r)
		if err != nil {
			return nil, err
		}
		list = append(list, b.quota(r, rule, len(rates) > 1))
	}
	if len(list) > 0 && b.ban != nil { // where there is no limit the policy does not apply
		list = append(list, b.ban)
	}
	return list, nil
}

func (b *binder) quota(r Rate, rule Rule, several bool) *quota {
	units, window := rule.Quota()
	e := &quota{policy: b.policy, shadow: b.shadow, rate: r, rule: rule, units: units, item: b.policy.name}
	e.local = b.share(r, rule)
	e.space = NewSpace(b.policy.name, r.Window.Microseconds(), rule.Shape(), b.naming, b.phase)
	if several {
		e.item += "-" + windowText(r.Window)
	}
	quoted := `"` + e.item + `"`
	e.left = quoted + ";r="
	e.field = quoted + ";q=" + strconv.FormatInt(units, 10)
	if isInFlight(rule) {
		e.field += inFlightUnit
	} else if window >= 1e6 { // w has no sub-second values
		e.field += ";w=" + strconv.FormatInt(seconds(window), 10)
	}
	e.fieldBytes = []byte(e.field)
	return e
}

// cached is bind with a memory.
func (b *binder) cached(rates Rates) ([]*quota, error) {
	id := cacheKey(rates)
	b.mu.RLock()
	hit := b.cache[id]
	b.mu.RUnlock()
	if hit == nil {
		hit = new(binding)
		hit.list, hit.err = b.bind(rates)
		b.mu.Lock()
		if b.cache == nil || len(b.cache) >= maxCachedRates {
			b.cache = make(map[string]*binding)
		}
		b.cache[id] = hit
		b.mu.Unlock()
	}
	return hit.list, hit.err
}

// cacheKey is an exact spelling of the rates.
func cacheKey(rates Rates) string {
	var b []byte
	for _, r := range rates {
		b = strconv.AppendInt(b, r.Limit, 36)
		b = strconv.AppendInt(append(b, '/'), int64(r.Window), 36)
		b = strconv.AppendInt(append(b, '@'), int64(r.Precision), 36)
		b = append(b, ';')
	}
	return string(b)
}

// windowText is a window as a suffix of names: "1m", "1d", "90s", "250ms".
func windowText(w time.Duration) string {
	for _, u := range windowUnits {
		if w%u.length == 0 {
			return strconv.FormatInt(int64(w/u.length), 10) + u.name
		}
	}
	return strings.ReplaceAll(w.String(), ".", "_")
}

var windowUnits = []struct {
	name   string
	length time.Duration
}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}}
