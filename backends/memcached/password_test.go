package memcachedlimit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stint-go/stint/internal/servers"
)

// A server that wants a password, which gomemcache can not give, is a mistake of
// the configuration: an error that says so, and never a decision.
func TestPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("user:sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := on(t, servers.MemcachedUnready(t, "-Y", file))
	for _, s := range all {
		ask := asking(t, s, 5, time.Minute)
		if v, err := take(b, 0, ask); !errors.Is(err, ErrConfig) || v.OK {
			t.Errorf("%T: %+v, %v", s, v, err)
		}
		if err := b.Reset(t.Context(), ask.Cell); !errors.Is(err, ErrConfig) {
			t.Errorf("%T: reset: %v", s, err)
		}
	}
}
