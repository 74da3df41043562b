package ancestors

import (
	"context"
	"crypto/sha512"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func TestDjangoEnable(t *testing.T) {
	t.Setenv("RATELIMIT", "off")
	login := core.Policy{Name: "login", Rate: "1/h"}
	// region enable
	config := core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{login},
		Disabled: os.Getenv("RATELIMIT") == "off",
	}
	// endregion
	openConfig(t, config).play(`0s GET / -> 200 x9`)
	config.Disabled = false
	openConfig(t, config).play(`
		0s GET / -> 200
		0s GET / -> 429`)
}

// region failopen

// failOpen admits what its backend can't decide.
type failOpen struct{ core.Backend }

func (b failOpen) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	now, err := b.Backend.Take(ctx, at, asks, out)
	for i := range out {
		if err != nil || out[i].Err != nil {
			units, _ := asks[i].Rule.Quota()
			out[i] = core.Verdict{Judgement: core.Judgement{OK: true, Remaining: units}}
		}
	}
	return now, nil
}

// endregion

// broken is a store that does not answer.
type broken struct{ core.Backend }

func (broken) Take(context.Context, int64, []core.Ask, []core.Verdict) (int64, error) {
	return 0, errors.New("connection refused")
}

func TestDjangoFailOpen(t *testing.T) {
	policies := []core.Policy{{Name: "login", Rate: "1/h"}}
	quiet := slog.New(slog.DiscardHandler)
	openConfig(t, core.Config{Backend: broken{}, Policies: policies, Logger: quiet}).play(`0s GET / -> 503 x3`)
	openConfig(t, core.Config{Backend: failOpen{broken{}}, Policies: policies}).play(`0s GET / -> 200 x3`)
	openConfig(t, core.Config{Backend: failOpen{memory.New()}, Policies: policies}).play(`
		0s GET / -> 200
		0s GET / -> 429`)
}

func TestDjangoAddress(t *testing.T) {
	policies := []core.Policy{{Name: "pages", Rate: "2/m"}}
	// region nothing
	direct := core.Config{Policies: policies} // the TCP peer, whatever a request claims
	// endregion
	openConfig(t, direct).play(`
		0s GET / X-Real-Ip:198.51.100.1 X-Forwarded-For:198.51.100.1 -> 200 x2
		0s GET / X-Real-Ip:198.51.100.2 X-Forwarded-For:198.51.100.2 -> 429`)

	// region metakey
	behind := core.Config{
		Policies:    policies,
		Proxies:     []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		ProxyHeader: "X-Real-IP", // without it: X-Forwarded-For or Forwarded
	}
	// endregion
	openConfig(t, behind).play(`
		0s GET / from:10.0.0.1 X-Real-Ip:198.51.100.1 -> 200 x2
		0s GET / from:10.0.0.1 X-Real-Ip:198.51.100.1 -> 429
		0s GET / from:10.0.0.1 X-Real-Ip:198.51.100.2 -> 200
		0s GET / from:192.0.2.66 X-Real-Ip:198.51.100.3 -> 200 x2
		0s GET / from:192.0.2.66 X-Real-Ip:198.51.100.4 -> 429`)

	// region chain
	chain := core.Config{
		Policies: policies,
		Proxies:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}
	// endregion
	openConfig(t, chain).play(`
		0s GET / from:10.0.0.1 X-Forwarded-For:6.6.6.6,198.51.100.1,10.0.0.2 -> 200 x2
		0s GET / from:10.0.0.1 X-Forwarded-For:7.7.7.7,198.51.100.1,10.0.0.2 -> 429`)

	// region callable-ip
	own := core.Config{
		Policies: policies,
		Client:   func(r core.Native) netip.Addr { return r.Peer() },
	}
	// endregion
	openConfig(t, own).play(`
		0s GET / -> 200 x2
		0s GET / -> 429`)
}

func TestDjangoMasks(t *testing.T) {
	policies := []core.Policy{{Name: "pages", Rate: "1/m"}}
	// region masks
	masks := core.Config{
		Policies:   policies,
		IPv4Prefix: 24, // 0: 32
		IPv6Prefix: 56, // 0: 64
	}
	// endregion
	openConfig(t, masks).play(`
		0s GET / from:192.0.2.1 -> 200
		0s GET / from:192.0.2.255 -> 429
		0s GET / from:192.0.3.1 -> 200
		0s GET / from:2001:db8::1 -> 200
		0s GET / from:2001:db8:0:ff::1 -> 429
		0s GET / from:2001:db8:0:100::1 -> 200`)
}

func TestDjangoHash(t *testing.T) {
	secret := []byte("at least sixteen random bytes")
	policies := []core.Policy{{Name: "login", Rate: "5/m"}}
	// region secret
	usual := core.Config{
		Backend:  memory.New(),
		Policies: policies,
		Secret:   secret, // the key of HMAC-SHA-256
	}
	// endregion
	openConfig(t, usual).play(`
		0s GET / -> 200 x5
		0s GET / -> 429`)
	// region hash
	config := core.Config{
		Backend:  memory.New(),
		Policies: policies,
		Digest: func(key []byte) [16]byte {
			sum := sha512.Sum512_256(append(secret[:len(secret):len(secret)], key...))
			return [16]byte(sum[:16])
		},
	}
	// endregion
	openConfig(t, config).play(`
		0s GET / -> 200 x5
		0s GET / -> 429`)
}

func TestDjangoView(t *testing.T) {
	policies := []core.Policy{{Name: "pages", Rate: "1/m"}}
	// region view
	config := core.Config{
		Policies: policies,
		Disallowed: func(r core.Request, d core.Decision) core.Response {
			if strings.Contains(r.Header("Accept"), "text/html") {
				return core.Response{Status: 429, ContentType: "text/html; charset=utf-8", Body: []byte("<h1>Later, please</h1>")}
			}
			return core.Refusal(d)
		},
	}
	// endregion
	s := openConfig(t, config)
	s.play(`0s GET / -> 200`)
	if w := s.ask("0s GET / Accept:text/html"); w.Code != 429 || w.Body.String() != "<h1>Later, please</h1>" {
		t.Error(w.Code, w.Body)
	}
	if w := s.ask("0s GET / Accept:*/*"); w.Code != 429 || !strings.HasPrefix(w.Body.String(), `{"type":`) {
		t.Error(w.Code, w.Body)
	}
}

// region forbidden

// Forbidden answers 403, as PermissionDenied does.
type Forbidden struct{ core.Base }

func (Forbidden) Disallowed(core.Request, core.Decision) core.Response {
	return core.Response{Status: 403, ContentType: "text/plain", Body: []byte("Forbidden")}
}

// endregion

func TestDjangoException(t *testing.T) {
	open(t, core.Policy{Name: "login", Rate: "1/m", Hooks: Forbidden{}}).play(`
		0s GET / -> 200
		0s GET / -> 403`)
}

func TestDjangoSecurity(t *testing.T) {
	// region attacks
	login := []core.Policy{
		{Name: "address", Rate: "30/h", Methods: core.Unsafe},
		{Name: "pair", Rate: "5/h", By: "ip+fold(post:username)", Methods: core.Unsafe},
		{Name: "name", Rate: "20/h", By: "fold(post:username)", Methods: core.Unsafe, Mode: core.Annotate},
	}
	// endregion
	// One address, one name.
	open(t, login...).play(`
		0s POST / username=bob -> 200 x5
		0s POST / username=Bob -> 429
		0s POST / username=bob from:192.0.2.2 -> 200`)
	// One address, many names.
	s := open(t, login...)
	for i := range 30 {
		s.play("0s POST / username=" + string(rune('a'+i)) + " -> 200")
	}
	s.play(`0s POST / username=bob -> 429`)
	// Many addresses, one name: noticed and not refused, or strangers could lock bob out.
	s = open(t, login...)
	for _, from := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"} {
		s.play("0s POST / username=bob from:" + from + " -> 200 x5")
	}
	s.play(`0s POST / username=bob from:192.0.2.5 -> 200`)
	d, err := s.Peek(t.Context(), "name", core.KeyOf(core.KindForm, "username", "bob"), 1)
	if err != nil || !d.Limited || !d.Allowed {
		t.Error(d, err)
	}
}
