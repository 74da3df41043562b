package core

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

var testSecret = []byte("0123456789abcdef0123456789abcdef")

func mustNaming(t testing.TB, n Naming) *Naming {
	t.Helper()
	p, err := NewNaming(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func nameOf(s *Space, k Key) string { return string((&Cell{Space: s, Key: k}).AppendName(nil)) }

// Frozen: a name that changes here resets every counter of every user of a
// shared store, so the version in it has to change as well.
func TestNamesAreFrozen(t *testing.T) {
	plain, keyed := mustNaming(t, Naming{}), mustNaming(t, Naming{Prefix: "shop:", Secret: testSecret})
	for _, c := range []struct {
		space *Space
		key   Key
		want  string
	}{
		{NewSpace("login", 15*60e6, "sliding-s", plain, nil), ipKey("192.0.2.1"), "rl:1:{FymLEw7HqdYzA2id8Kyapg}:login:15m:sliding-s"},
		{NewSpace("login", 15*60e6, "sliding-s", keyed, nil), ipKey("192.0.2.1"), "shop:1:{CBhFe4eCtSVa8ZJ64pzY5A}:login:15m:sliding-s"},
		{NewSpace("api", 86400e6, "gcra", keyed, nil), KeyOfPrefix(netip.MustParsePrefix("2001:db8::/64")), "shop:1:{pA2GJQ3_P9h4m-5gKgP_-Q}:api:1d:gcra"},
		{NewSpace("api", 1500e3, "gcra", keyed, nil), KeyOf(KindHeader, "X-Api-Key", "k1").With("route", "/a"), "shop:1:{7VfOVBjC2Wig_DZUjDTRrw}:api:1500ms:gcra"},
		{NewSpace("", 1, "", nil, nil), Key{}, "rl:1:{bDK4EMHvKpOXXCYXNXW_nQ}::1us:"},
		{NewSpace("a:b", 1, "x y", nil, nil), Key{}, "rl:1:{bDK4EMHvKpOXXCYXNXW_nQ}:~Z4OjHqv2jMwGYPk1wIJigg:1us:~iH_OpqgDM8bAKufnlzXw7Q"},
	} {
		if got := nameOf(c.space, c.key); got != c.want {
			t.Errorf("name\n %s, want\n %s", got, c.want)
		}
	}
}

func TestTagIsHMACOfTheKeyAlone(t *testing.T) {
	k := KeyOf(KindUser, "", "alice")
	mac := hmac.New(sha256.New, testSecret)
	mac.Write(k.Append(nil))
	want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
	for _, n := range []*Naming{mustNaming(t, Naming{Secret: testSecret}), {Secret: testSecret}} {
		for range 2 { // the second from a used state
			if got := n.DigestOf(&k).String(); got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
		}
	}
}

func TestSecretAndDigestMakeOtherTags(t *testing.T) {
	k, other := NewKey("a", "b"), bytes.Repeat([]byte{7}, 16)
	tags := map[Digest]bool{}
	for _, n := range []Naming{{}, {Secret: testSecret}, {Secret: other}, {Digest: func(b []byte) (d [16]byte) { copy(d[:], b); return d }}} {
		tags[mustNaming(t, n).DigestOf(&k)] = true
	}
	if len(tags) != 4 {
		t.Errorf("%d tags of 4", len(tags))
	}
}

func TestNamingKeepsItsOwnSecret(t *testing.T) {
	secret, k := bytes.Clone(testSecret), NewKey("a", "b")
	n := mustNaming(t, Naming{Secret: secret})
	before := n.DigestOf(&k)
	clear(secret)
	if n.DigestOf(&k) != before || mustNaming(t, *n).DigestOf(&k) != before {
		t.Error("the digest follows the caller's slice")
	}
}

func TestNamingRefuses(t *testing.T) {
	for _, c := range []struct {
		n    Naming
		want string
	}{
		{Naming{Prefix: strings.Repeat("x", 33)}, "33 bytes"},
		{Naming{Prefix: "a b"}, "byte 1"},
		{Naming{Prefix: "ab{"}, "byte 2"},
		{Naming{Prefix: "ä"}, "byte 0"},
		{Naming{Prefix: "x\n"}, "byte 1"},
		{Naming{Secret: make([]byte, 15)}, "15 bytes"},
		{Naming{Secret: make([]byte, 16), Digest: func([]byte) (d [16]byte) { return d }}, "beside a Digest"},
	} {
		if n, err := NewNaming(c.n); n != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.n, err, c.want)
		}
	}
	_, err := NewNaming(Naming{Prefix: " ", Secret: []byte("x")})
	if err == nil || strings.Count(err.Error(), "naming:") != 2 {
		t.Errorf("not all complaints at once: %v", err)
	}
}

// nameKeys and nameSpaces are made of parts that would meet if they were joined
// carelessly.
var (
	namePolicies = []string{"", "a:b", "Z4OjHqv2jMwGYPk1wIJigg", "a", "a:1m", "a:1m:x", "A", "~", "~a", "a b", "a\x00", "ä", "{a}", "a-1m", strings.Repeat("p", 64), strings.Repeat("p", 65), strings.Repeat("p", 1000)}
	nameWindows  = []int64{1, 999, 1000, 1e6, 6e7, 60e6 * 60, 86400e6, 86400e6 * 366, 90e6, 61e6, MaxWindow - 1}
	nameShapes   = []string{"", "x", "x:x", "gcra", "~", strings.Repeat("s", 32), strings.Repeat("s", 33)}
)

func TestNamesDifferAndAreLegalAndShort(t *testing.T) {
	n := mustNaming(t, Naming{Prefix: strings.Repeat("p", 32), Secret: testSecret})
	seen := map[string]string{}
	for _, k := range []Key{{}, NewKey("a", "b"), NewKey("ab", ""), NewKey("a", "").With("b", ""), ipKey("1.2.3.4"), NewKey("", strings.Repeat("x", 9000))} {
		slot := -1
		for _, p := range namePolicies {
			for _, w := range nameWindows {
				for _, sh := range nameShapes {
					name := nameOf(NewSpace(p, w, sh, n, nil), k)
					what := fmt.Sprintf("%q %d %q %q", p, w, sh, k.Append(nil))
					if was, ok := seen[name]; ok {
						t.Fatalf("%s and %s share the name %s", was, what, name)
					}
					seen[name] = what
					if len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
						t.Fatalf("name %q of %d bytes", name, len(name))
					}
					if s := redisSlot(name); slot >= 0 && s != slot {
						t.Fatalf("%s: slot %d, another cell of the identity has %d", name, s, slot)
					} else {
						slot = s
					}
				}
			}
		}
	}
}

// redisSlot is the slot of a key as the Redis Cluster specification has it.
func redisSlot(key string) int {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if j := strings.IndexByte(key[i+1:], '}'); j > 0 {
			key = key[i+1 : i+1+j]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % 16384
}

func TestSlotsAreBalanced(t *testing.T) {
	if redisSlot("123456789") != 0x31c3 || redisSlot("x{123456789}:y") != 0x31c3 {
		t.Fatal("the slot function is wrong") // check value of the specification
	}
	s := NewSpace("api", 60e6, "gcra", mustNaming(t, Naming{}), nil)
	var shards [64]int
	const keys = 64 * 400
	for i := range keys {
		shards[redisSlot(nameOf(s, KeyOf(KindUser, "", fmt.Sprint("user", i))))/256]++
	}
	for i, n := range shards {
		if n < 300 || n > 500 { // 5 standard deviations
			t.Errorf("slots %d to %d have %d of %d keys, want about 400", i*256, i*256+255, n, keys)
		}
	}
}

func TestDigestIsSafeForConcurrentUse(t *testing.T) {
	n := mustNaming(t, Naming{Secret: testSecret})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			k := KeyOf(KindUser, "", fmt.Sprint(g))
			want := n.DigestOf(&k)
			for range 500 {
				if n.DigestOf(&k) != want {
					t.Error("digests of concurrent calls are mixed up")
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestDigestHashIsItsBeginning(t *testing.T) {
	d := Digest{1, 2, 3, 4, 5, 6, 7, 8, 9}
	if d.Hash() != 0x0102030405060708 {
		t.Errorf("%x", d.Hash())
	}
}

func BenchmarkAppendName(b *testing.B) {
	c := Cell{Space: NewSpace("login", 60e6, "gcra", mustNaming(b, Naming{Secret: testSecret}), nil), Key: ipKey("192.0.2.1")}
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = c.AppendName(dst[:0])
	}
}
