package core

import (
	"encoding/binary"
	"net/netip"
	"net/textproto"
	"strings"
)

// A Kind tells where a part of a key comes from. Parts of different kinds never
// meet: the header value 1.2.3.4 is not the address 1.2.3.4.
type Kind uint8

// The kinds of key parts. They are on the wire: append only, never renumber.
const (
	KindNone    Kind = iota
	KindIP           // a client address, cut to its prefix
	KindHeader       // a header field's value
	KindQuery        // a query parameter
	KindForm         // a form value
	KindJSON         // a top-level field of a JSON body
	KindUser         // the authenticated user
	KindRoute        // the route template
	KindConst        // a constant
	KindExtra        // what KeyExtra or the caller added with With
	KindNamed        // a part named by As, whatever its source
	KindMissing      // stands for a value that the request does not have
)

// A Key is an identity as it is counted: a list of parts, each with kind, name
// and value. It is built from parts only, so two identities never share a key by
// the way their strings join. Keys of equal parts are ==. The zero Key is the
// empty list: everybody.
//
// A Key may refer to a request's memory: use it within the request, and Clone it
// to keep it longer. A Key is a value and safe for concurrent use.
type Key struct {
	head  string // encoded parts before the last one
	name  string // the last part, not yet encoded: so a key of one part costs no allocation
	value string
	hi    uint64 // KindIP: the address as 16 bytes
	lo    uint64
	kind  Kind
	bits  uint8 // KindIP: prefix length; 0..32 with v4 set
	v4    bool
}

// NewKey is the key of one part made by the caller, for use outside requests
// (jobs, RPC) and in tests.
func NewKey(name, value string) Key { return Key{kind: KindExtra, name: name, value: value} }

// KeyOf is the key of one part of the given kind, as the key sources build it;
// name is the header's, parameter's or field's name. It serves to name a cell
// from outside a request: KeyOf(KindUser, "", "bob"). KindNone has no part and
// KindIP is built by KeyOfPrefix: KeyOf panics for both.
func KeyOf(kind Kind, name, value string) Key {
	if kind == KindNone || kind == KindIP {
		panic("core: KeyOf has no name and value for KindNone and KindIP; use Key{} or KeyOfPrefix")
	}
	if kind == KindHeader {
		name = textproto.CanonicalMIMEHeaderKey(name)
	}
	return Key{kind: kind, name: name, value: value}
}

// KeyOfPrefix is the key of a client address cut to its prefix: what ByIP
// builds. A v4-mapped prefix is the v4 one. An invalid prefix, which no client
// has, is a key of its own.
func KeyOfPrefix(p netip.Prefix) Key {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return keyOfMasked(p.Masked().Addr(), p.Bits())
}

// keyOfMasked is the key of a prefix that is masked and not v4-mapped.
func keyOfMasked(a netip.Addr, bits int) Key {
	b := a.As16()
	return Key{kind: KindIP, hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:]),
		bits: uint8(bits), v4: a.Is4()}
}

// With returns the key with one more part. It copies what it needs: the result
// stays valid as long as value does.
func (k Key) With(name, value string) Key { return k.with(KeyOf(KindExtra, name, value)) }

// JoinKeys is the key of all parts of several keys: what Join makes of its
// sources, for use outside of requests.
func JoinKeys(keys ...Key) (joined Key) {
	for _, k := range keys {
		joined = joined.with(k)
	}
	return joined
}

// with appends the parts of last.
func (k Key) with(last Key) Key {
	switch {
	case k.kind == KindNone:
		return last
	case last.kind == KindNone:
		return k
	}
	var buf [128]byte
	last.head = string(append(k.Append(buf[:0]), last.head...))
	return last
}

// Clone returns an equal key that refers to no memory of a request.
func (k Key) Clone() Key {
	k.name, k.value = strings.Clone(k.name), strings.Clone(k.value)
	return k
}

// maxKey bounds a key in bytes, whatever a KeyExtra makes of a long body.
const maxKey = 4 * maxValue

func (k *Key) tooLong() bool { return len(k.head)+len(k.name)+len(k.value) > maxKey }

// IsZero reports whether the key has no part.
func (k Key) IsZero() bool { return k.kind == KindNone }

// Append appends the injective binary encoding of the key to b: per part its
// kind, then name and value with their lengths. Equal encodings mean equal keys.
func (k *Key) Append(b []byte) []byte {
	b = append(b, k.head...)
	if k.kind == KindNone {
		return b
	}
	b = append(b, byte(k.kind))
	if k.kind == KindIP {
		if k.v4 {
			b = append(b, 4, k.bits)
			return binary.BigEndian.AppendUint32(b, uint32(k.lo))
		}
		b = append(b, 6, k.bits)
		b = binary.BigEndian.AppendUint64(b, k.hi)
		return binary.BigEndian.AppendUint64(b, k.lo)
	}
	b = binary.AppendUvarint(b, uint64(len(k.name)))
	b = append(b, k.name...)
	b = binary.AppendUvarint(b, uint64(len(k.value)))
	return append(b, k.value...)
}
