package core

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"sync"
)

// A Naming turns cells into names for stores outside the process. A name is
//
//	rl:1:{tag}:login:15m:sliding-s
//
// prefix, version, tag of the identity, policy, window and shape. It has 200
// bytes at most, all of them legal in a memcached key; identities do not appear
// in it. All cells of one identity have one tag and so share a Redis slot.
//
// The zero Naming works. NewNaming checks the settings and makes names faster.
// A Naming must not be changed once it is in use; then it is safe for
// concurrent use.
type Naming struct {
	// Prefix begins every name; "" is "rl:". At most 32 visible ASCII
	// characters, braces excepted (they are Redis Cluster's).
	Prefix string
	// Secret keys the tag's HMAC-SHA-256. Without it, tags are pseudonyms only:
	// whoever reads the store can find a client's address or a user's name by
	// trying them all. All processes that share a store need the same secret;
	// a new one starts every counter from empty.
	Secret []byte
	// Digest replaces the HMAC, Secret included, for the encoding of a key.
	// Different encodings must practically never have equal digests, even
	// where an attacker chooses them. It must be safe for concurrent use and
	// not keep key.
	Digest func(key []byte) [16]byte

	pool *sync.Pool // of *macState
}

const (
	defaultPrefix = "rl:"
	// nameVersion changes when the meaning of a name's other parts or of the
	// states changes, so that two releases on one store never misread each
	// other. It also leaves room to name a secret, when they rotate.
	nameVersion = "1:"
	// publicSecret stands in for a missing secret.
	publicSecret  = "stint"
	minSecret     = 16
	maxPrefix     = 32
	maxPolicyName = 64
	maxShape      = 32
)

// NewNaming checks a naming and prepares it. The error names all that is wrong.
func NewNaming(n Naming) (*Naming, error) {
	var errs []error
	if len(n.Prefix) > maxPrefix {
		errs = append(errs, fmt.Errorf("naming: the prefix has %d bytes; at most %d fit", len(n.Prefix), maxPrefix))
	}
	for i := range len(n.Prefix) {
		if c := n.Prefix[i]; c <= ' ' || c >= 0x7f || c == '{' || c == '}' {
			errs = append(errs, fmt.Errorf(`naming: the prefix %q has %q at byte %d; use visible ASCII without braces, such as "shop:rl:"`, n.Prefix, c, i))
			break
		}
	}
	if len(n.Secret) > 0 && len(n.Secret) < minSecret {
		errs = append(errs, fmt.Errorf("naming: the secret has %d bytes and can be guessed; use at least %d random ones, or none", len(n.Secret), minSecret))
	}
	if len(n.Secret) > 0 && n.Digest != nil {
		errs = append(errs, errors.New("naming: the secret has no effect beside a Digest; set one of them"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	secret := bytes.Clone(n.Secret)
	return &Naming{
		Prefix: n.Prefix,
		Secret: secret,
		Digest: n.Digest,
		pool:   &sync.Pool{New: func() any { return newMACState(secret) }},
	}, nil
}

// A Digest stands for an identity outside the process: it is the tag in its
// cells' names, and what logs may show of it.
type Digest [16]byte

// Hash is 64 well mixed bits of the digest, for Cell.Phase.
func (d Digest) Hash() uint64 { return binary.BigEndian.Uint64(d[:8]) }

// String is the digest as it appears between the braces of a name.
func (d Digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// DigestOf is the digest of an identity, the same for all policies.
func (n *Naming) DigestOf(k *Key) Digest {
	s, _ := n.get().(*macState)
	if s == nil {
		s = newMACState(n.Secret)
	}
	s.key = k.Append(s.key[:0])
	var d Digest
	if n.Digest != nil {
		d = n.Digest(s.key)
	} else {
		s.mac.Reset()
		s.mac.Write(s.key)
		copy(d[:], s.mac.Sum(s.sum[:0]))
	}
	if n.pool != nil {
		n.pool.Put(s)
	}
	return d
}

func (n *Naming) get() any {
	if n.pool == nil {
		return nil
	}
	return n.pool.Get()
}

// A macState is what one digest needs, so that it allocates nothing.
type macState struct {
	mac hash.Hash
	key []byte
	sum [sha256.Size]byte
}

func newMACState(secret []byte) *macState {
	if len(secret) == 0 {
		secret = []byte(publicSecret)
	}
	return &macState{mac: hmac.New(sha256.New, secret)}
}

// Digest is the digest of the cell's identity under its space's naming. All
// cells of one identity have the same: make it once per request.
func (c *Cell) Digest() Digest { return c.Space.naming.DigestOf(&c.Key) }

// AppendName appends the cell's name to dst: see Naming.
func (c *Cell) AppendName(dst []byte) []byte { return c.Space.AppendName(dst, c.Digest()) }

// AppendName appends the name of the cell with that Digest to dst.
func (s *Space) AppendName(dst []byte, d Digest) []byte {
	prefix := s.naming.Prefix
	if prefix == "" {
		prefix = defaultPrefix
	}
	dst = append(dst, prefix...)
	dst = append(dst, nameVersion+"{"...)
	dst = base64.RawURLEncoding.AppendEncode(dst, d[:])
	dst = append(dst, "}:"...)
	dst = appendWord(dst, s.policy, maxPolicyName)
	dst = append(dst, ':')
	dst = appendWindow(dst, s.window)
	dst = append(dst, ':')
	return appendWord(dst, s.shape, maxShape)
}

// appendWord appends a word of letters, digits and "-_." as it is and any other
// as a hash, marked by a character that no word has. Policies and shapes are
// checked where they are made; this keeps names legal and distinct whatever
// reaches them.
func appendWord(dst []byte, w string, limit int) []byte {
	if len(w) <= limit && isWord(w) {
		return append(dst, w...)
	}
	sum := sha256.Sum256([]byte(w))
	return base64.RawURLEncoding.AppendEncode(append(dst, '~'), sum[:16])
}

// isWord reports whether s has only ASCII letters, digits and "-_.".
func isWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

// appendWindow appends microseconds in the largest unit that divides them, so
// that equal windows have one spelling.
func appendWindow(dst []byte, us int64) []byte {
	unit := "us"
	for _, u := range [...]struct {
		n    int64
		name string
	}{{1000, "ms"}, {1000, "s"}, {60, "m"}, {60, "h"}, {24, "d"}} {
		if us%u.n != 0 {
			break
		}
		us, unit = us/u.n, u.name
	}
	return append(strconv.AppendInt(dst, us, 10), unit...)
}
