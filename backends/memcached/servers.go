package memcachedlimit

import (
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
)

// byCell picks a server by the name of the cell that a key belongs to, so that
// all counters of a cell are in one place: they are read in one round trip, and
// a server that is down takes whole cells with it, not a window of each.
type byCell struct{ memcache.ServerSelector }

func (s byCell) PickServer(key string) (net.Addr, error) {
	return s.ServerSelector.PickServer(cellOf(key))
}

// A serverList is what memcache.ServerList is, for servers that never change and
// whose names are not resolved before they are dialled.
type serverList []net.Addr

var _ memcache.ServerSelector = serverList(nil)

// An address is one that net.Dial takes.
type address struct{ network, text string }

func (a *address) Network() string { return a.network }
func (a *address) String() string  { return a.text }

func newServerList(servers []string) (list serverList, errs []error) {
	if len(servers) == 0 {
		errs = append(errs, errors.New(`memcachedlimit: no servers: name at least one, such as "127.0.0.1:11211"`))
	}
	for _, s := range servers {
		a := &address{"tcp", s}
		if strings.Contains(s, "/") {
			a.network = "unix"
		} else if host, port, err := net.SplitHostPort(s); err != nil || host == "" || port == "" {
			errs = append(errs, fmt.Errorf(`memcachedlimit: server %q is not an address: write host and port, such as "127.0.0.1:11211"`, s))
		}
		list = append(list, a)
	}
	return list, errs
}

// PickServer is memcache.ServerList's choice.
func (l serverList) PickServer(key string) (net.Addr, error) {
	if len(l) == 0 {
		return nil, memcache.ErrNoServers
	}
	if len(l) == 1 {
		return l[0], nil
	}
	return l[crc32.ChecksumIEEE([]byte(key))%uint32(len(l))], nil
}

// Each calls f with every server.
func (l serverList) Each(f func(net.Addr) error) error {
	for _, a := range l {
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}
