//go:build unix

package memcachedlimit

import (
	"net"
	"syscall"
)

// observe returns what tells whether a connection is open and has nothing to say:
// no end, and no reply that nobody asked for. It is made once per connection and
// then costs one system call.
func observe(nc net.Conn) (quiet func() bool) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return func() bool { return true }
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	var b [1]byte
	open := false
	look := func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), b[:])
		open = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true // do not wait
	}
	return func() bool {
		open = false
		return raw.Read(look) == nil && open
	}
}
