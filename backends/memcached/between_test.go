package memcachedlimit

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
)

// Another request comes between the look at two cells and their charges, and
// takes all of the second one: what the first was charged it gets back, and its
// verdict is that of a cell which was not charged.
func TestGivenBackIsNotToBeSeen(t *testing.T) {
	s := shared.single()
	other := on(t, s)
	for _, strategy := range all {
		first, second := asking(t, strategy, 2, time.Hour), asking(t, core.FixedWindow{}, 5, time.Hour)
		theirs := second
		theirs.Cost = 5
		var looked atomic.Bool
		p := faultproxy.New(t, s.Addr())
		p.Set(faultproxy.Mode{Corrupt: func(reply []byte) []byte {
			if !looked.Swap(true) {
				if v, err := take(other, 0, theirs); err != nil || !v.OK {
					t.Error("the other request:", v, err)
				}
			}
			return reply
		}})
		out := make([]core.Verdict, 2)
		if _, err := dialling(t, patient, p.Addr()).Take(context.Background(), 0, []core.Ask{first, second}, out); err != nil {
			t.Fatal(err)
		}
		if x, y := out[0], out[1]; !x.OK || x.Charged || x.Remaining != 2 || y.OK || y.Charged || y.Remaining != 0 {
			t.Errorf("%T: the first %+v\nthe second %+v", strategy, x, y)
		}
		if got := units(t, other, 0, first); got != 0 {
			t.Errorf("%T: %d units stay charged", strategy, got)
		}
	}
}
