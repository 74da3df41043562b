//go:build unix

package memcachedlimit

import (
	"net"
	"syscall"
)

// quiet tells whether a connection is open and has nothing to say: no end, and
// no reply that nobody asked for.
func quiet(nc net.Conn) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		open = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true // do not wait
	})
	return open && err == nil
}
