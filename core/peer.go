package core

import (
	"net/netip"
	"strings"
)

// ParsePeer turns an "address:port" as net/http gives it (Request.RemoteAddr)
// into the peer's address; the port may be missing and is not looked at. What is
// no address (a unix socket's "@", "") is the invalid Addr.
func ParsePeer(s string) netip.Addr {
	if a, ok := parsePeer4(s); ok {
		return a
	}
	if strings.HasPrefix(s, "[") {
		s, _, _ = strings.Cut(s[1:], "]")
	} else if i := strings.LastIndexByte(s, ':'); i == strings.IndexByte(s, ':') && i >= 0 {
		s = s[:i]
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// parsePeer4 is the usual case, an IPv4 address and a port, in one pass. What it
// does not know it leaves to ParseAddr.
func parsePeer4(s string) (netip.Addr, bool) {
	var b [4]byte
	field, value, digits := 0, 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			if digits > 0 && value == 0 { // a leading zero
				return netip.Addr{}, false
			}
			value = value*10 + int(c-'0')
			if digits++; value > 255 {
				return netip.Addr{}, false
			}
		case (c == '.' && field < 3 || c == ':' && field == 3) && digits > 0:
			b[field] = byte(value)
			if c == ':' {
				return netip.AddrFrom4(b), true
			}
			field, value, digits = field+1, 0, 0
		default:
			return netip.Addr{}, false
		}
	}
	return netip.Addr{}, false
}
