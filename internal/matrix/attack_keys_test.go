package matrix

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// TestPeersWithoutAddress: what net/http may say of a peer that has none, beyond
// the unix socket of TestAttack_E5.
func TestPeersWithoutAddress(t *testing.T) {
	l := memory.Limiter("1/m")
	for peer, want := range map[string]bool{"": false, "@": false, "x": false, "1.2.3.4": true, "[::1%lo]:9": true, "[fe80::1%eth0]:1": true, "1.2.3.4.5:1": false, "01.2.3.4:1": false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		d, err := l.AllowRequest(httplimit.Request(r))
		if d.Allowed != want || (err == nil) != want {
			t.Errorf("peer %q: allowed %v, %v", peer, d.Allowed, err)
		}
	}
}

// TestAttack_E6_wire: pairs of different identities have different names in a
// store outside the process, however their parts are cut.
func TestAttack_E6_wire(t *testing.T) {
	n := 200_000 * options("memory").Effort / 100
	r := mathrand.New(mathrand.NewPCG(6, 6))
	space := core.NewSpace("p", minute, "fixed", nil, nil)
	seen := map[string]string{}
	const letters = "ab:|_/,\x00\x01é"
	word := func() string {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	for range n {
		kind, first, second := []core.Kind{core.KindForm, core.KindQuery, core.KindUser}[r.IntN(3)], word(), word()
		k := core.KeyOf(kind, first, second)
		text := fmt.Sprintf("%d %q=%q", kind, first, second)
		if r.IntN(2) == 0 {
			name, value := word(), word()
			k = k.With(name, value)
			text += fmt.Sprintf("+%q=%q", name, value)
		}
		cell := core.Cell{Space: space, Key: k}
		name := string(cell.AppendName(nil))
		if other, known := seen[name]; known && other != text {
			t.Fatalf("%s and %s are both %s", text, other, name)
		}
		seen[name] = text
	}
	if len(seen) < n/20 {
		t.Errorf("only %d different identities", len(seen))
	}
}

// TestAttack_E7: keys that were crafted to collide under one seed do not under
// another, and each of many similar keys has its own counter.
func TestAttack_E7(t *testing.T) {
	l := memory.Limiter("1/d", core.ByHeader("X-Api-Key"))
	for i := range 100_000 {
		d, err := l.Allow(context.Background(), "default", core.KeyOf(core.KindHeader, "X-Api-Key", strings.Repeat("A", i%8)+fmt.Sprintf("%08b", i)), 1)
		if err != nil || !d.Allowed {
			t.Fatalf("key %d shares a counter: %+v, %v", i, d, err)
		}
	}
}

// TestAttack_E8_wire: of a secret used as a key, nothing is in the name that a
// store outside the process sees, and its length does not show.
func TestAttack_E8_wire(t *testing.T) {
	naming, err := core.NewNaming(core.Naming{Secret: []byte(rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace(strings.Repeat("p", 64), minute, strings.Repeat("s", 32), naming, nil)
	for _, n := range []int{1, 100, 3 << 20} {
		secret := strings.Repeat("sesame", n)
		cell := core.Cell{Space: space, Key: core.KeyOf(core.KindHeader, "Authorization", secret)}
		name := string(cell.AppendName(nil))
		if len(name) > 200 || strings.Contains(name, "sesame") || strings.Contains(name, "Authorization") {
			t.Errorf("%d bytes: %s", len(secret), name)
		}
	}
}

// TestNamesOfPoliciesAreTokens: no policy name reaches a header field that does
// not belong there (F10).
func TestAttack_F10_names(t *testing.T) {
	for _, name := range []string{"", "a b", "a\r\nX-Injected: 1", `a"`, "a;b", "a,b", "a\x00", "é", "ａ", `a\`, strings.Repeat("a", 65)} {
		_, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: name, Rate: "1/s"}}})
		if err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
