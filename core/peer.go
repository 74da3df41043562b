package core

import "net/netip"

// ParsePeer turns an "address:port" as net/http gives it (Request.RemoteAddr)
// into the peer's address; the port may be missing. What is no address (a unix
// socket's "@", "") is the invalid Addr.
func ParsePeer(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr()
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a
}
