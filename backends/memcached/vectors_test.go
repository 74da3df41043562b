package memcachedlimit

import (
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// What the ancestors did, recorded by running them on a frozen clock: those of
// core's vectors whose ancestors kept their counters in memcached.

type scenario struct {
	Name  string `json:"name"`
	Epoch int64  `json:"epoch_ms"`
	Rate  struct {
		Limit  int64 `json:"limit"`
		Period int64 `json:"period_ms"`
	} `json:"rate"`
	Minutes int64 `json:"minutes"`
	Steps   []struct {
		At          int64           `json:"at_ms"`
		Key         string          `json:"key"`
		Value       string          `json:"value"`
		Post        json.RawMessage `json:"post"`
		Allowed     bool            `json:"allowed"`
		WindowEnd   int64           `json:"window_end_s"`
		TimeLeft    int64           `json:"time_left_s"`
		Increment   bool            `json:"increment"`
		Applies     *bool           `json:"applies"`
		Count       int64           `json:"count"`
		ShouldLimit bool            `json:"should_limit"`
	} `json:"steps"`
}

func recordings(t *testing.T, family string) (all []scenario) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "core", "testdata", "vectors", family+".json"))
	if err != nil {
		t.Fatal(err)
	}
	file := struct{ Scenarios *[]scenario }{&all}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return all
}

// recorded is an ask under a policy of its own for each scenario.
func recorded(t *testing.T, sc *scenario, key string, s core.Strategy, window time.Duration, phase int64) core.Ask {
	t.Helper()
	rule, err := s.Bind(core.Rate{Limit: sc.Rate.Limit, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace("vectors "+sc.Name, window.Microseconds(), rule.Shape(), nil, func(core.Cell) int64 { return phase })
	return core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", key)}, Rule: rule, Cost: 1, When: core.Always}
}

// The cache class of 2009: counters of calendar minutes in memcached.
func TestVectorsMinuteBuckets(t *testing.T) {
	b, compared := on(t, shared.single()), 0
	for _, sc := range recordings(t, "minute-buckets") {
		for i, st := range sc.Steps {
			if st.Post == nil && strings.HasPrefix(sc.Name, "post-") {
				continue // this method is not limited
			}
			s := core.BucketedWindow{Precision: time.Minute, Align: core.Clock}
			window := time.Duration(sc.Minutes) * time.Minute
			if sc.Minutes == 0 { // the current minute alone
				s.Inclusive, window = true, time.Minute
			}
			a := recorded(t, &sc, st.Key+string(st.Post), s, window, 0)
			v, err := take(b, (sc.Epoch+st.At)*1000, a)
			if err != nil {
				t.Fatal(err)
			}
			if v.OK != st.Allowed {
				t.Errorf("%s, step %d: admitted %v, recorded %v", sc.Name, i, v.OK, st.Allowed)
			}
			compared++
		}
	}
	if compared != 102 {
		t.Errorf("%d steps compared", compared)
	}
}

// django-ratelimit: its windows are staggered by crc32 of the value, and the
// second of the end still belongs to them.
func TestVectorsDjango(t *testing.T) {
	b, compared := on(t, shared.single()), 0
	for _, sc := range recordings(t, "django-window-sequence") {
		for i, st := range sc.Steps {
			if st.Applies != nil && !*st.Applies {
				continue // this method is not limited
			}
			period := sc.Rate.Period / 1000
			phase := (int64(crc32.ChecksumIEEE([]byte(st.Value))) + 1) % period * 1e6
			a := recorded(t, &sc, st.Value, core.FixedWindow{}, time.Duration(period)*time.Second, phase)
			at, want := (sc.Epoch+st.At)*1000, !st.ShouldLimit
			if !st.Increment { // on purpose different: may the next one pass, not was the last one refused
				a.When, want = core.Never, st.Count < sc.Rate.Limit
			}
			v, err := take(b, at, a)
			if err != nil {
				t.Fatal(err)
			}
			if v.OK != want {
				t.Errorf("%s, step %d: admitted %v, recorded %v", sc.Name, i, v.OK, want)
			}
			if st.Increment && sc.Rate.Limit > 0 {
				if end := at + v.ResetAfter; end != (st.WindowEnd+1)*1e6 || v.Remaining != max(0, sc.Rate.Limit-st.Count) {
					t.Errorf("%s, step %d: window ends at %d with %d left, recorded %d and a count of %d",
						sc.Name, i, end, v.Remaining, (st.WindowEnd+1)*1e6, st.Count)
				}
			}
			compared++
		}
	}
	if compared != 63 {
		t.Errorf("%d steps compared", compared)
	}
}
