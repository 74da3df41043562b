package a

import (
	"testing"
	clock "time"
)

func TestSkips(t *testing.T) {
	t.Skip("no server")
	t.Run("sub", func(tt *testing.T) {
		tt.SkipNow()
		clock.Sleep(1)
	})
}

func FuzzSkips(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string) { t.Skipf("%s", s) })
}

func need(tb testing.TB) { tb.Skip() }
