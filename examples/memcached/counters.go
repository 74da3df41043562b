package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// counters writes the items of this library that a memcached holds.
func counters(w io.Writer, addr string) error {
	keys, err := keysOf(addr)
	if err != nil || len(keys) == 0 {
		return err
	}
	c := memcache.New(addr)
	defer c.Close()
	items, err := c.GetMulti(keys)
	for _, key := range slices.Sorted(maps.Keys(items)) {
		fmt.Fprintf(w, "%s  %s\n", key, items[key].Value)
	}
	return err
}

// keysOf asks memcached for the names of its items, which gomemcache can not.
func keysOf(addr string) (keys []string, err error) {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	io.WriteString(c, "lru_crawler metadump all\r\n")
	for lines := bufio.NewScanner(c); lines.Scan(); {
		name, _, _ := strings.Cut(lines.Text(), " ")
		switch escaped, ok := strings.CutPrefix(name, "key="); {
		case !ok && name == "END":
			return keys, nil
		case !ok:
			return nil, fmt.Errorf("memcached on %s: %s", addr, lines.Text())
		default:
			key, err := url.QueryUnescape(escaped)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(key, "rl:") {
				keys = append(keys, key)
			}
		}
	}
	return nil, io.ErrUnexpectedEOF
}
