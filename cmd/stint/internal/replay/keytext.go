package replay

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/stint-go/stint/core"
)

// KeyText is a key for people: the values of its parts. It reads the documented
// encoding of keys.
func KeyText(k core.Key) string {
	b := k.Append(nil)
	var parts []string
	for len(b) > 0 {
		kind := core.Kind(b[0])
		if kind == core.KindIP {
			var text string
			text, b = addressText(b[1:])
			parts = append(parts, text)
			continue
		}
		var name, value string
		name, b = cutText(b[1:])
		value, b = cutText(b)
		switch {
		case kind == core.KindRoute && name != "":
			value = name + " " + value
		case kind == core.KindMissing:
			value = "(no " + name + ")"
		}
		parts = append(parts, value)
	}
	return strings.Join(parts, " + ")
}

// addressText reads version, bits and address. Whole addresses, and the /64 that
// is one IPv6 client, are the usual ones.
func addressText(b []byte) (string, []byte) {
	size := 16
	if b[0] == 4 {
		size = 4
	}
	bits, b := int(b[1]), b[2:]
	a, _ := netip.AddrFromSlice(b[:size])
	if bits == a.BitLen() {
		return a.String(), b[size:]
	}
	return netip.PrefixFrom(a, bits).String(), b[size:]
}

func cutText(b []byte) (string, []byte) {
	n, size := binary.Uvarint(b)
	b = b[size:]
	return string(b[:n]), b[n:]
}
