package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"os/user"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// A server is a memcached of our own.
type server struct {
	addr string
	cmd  *exec.Cmd
}

var errNoMemcached = errors.New(`memcached is not installed. Install it with

	sudo apt-get install -y memcached      (or: brew install memcached)

or name one that runs: -memcached 127.0.0.1:11211`)

// startMemcached starts one on a free port.
func startMemcached() (*server, error) {
	path, err := exec.LookPath("memcached")
	if err != nil {
		return nil, errNoMemcached
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{addr: l.Addr().String()}
	l.Close()
	_, port, _ := net.SplitHostPort(s.addr)
	args := []string{"-l", "127.0.0.1", "-p", port, "-U", "0"}
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		args = append(args, "-u", u.Username) // it will not be root unless told to
	}
	s.cmd = exec.Command(path, args...)
	return s, s.cmd.Start()
}

func (s *server) stop() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// reach waits until memcached answers, for a few seconds at most.
func reach(ctx context.Context, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("-memcached %s: %w", addr, err)
	}
	c := memcache.New(addr)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("memcached on %s does not answer: %w", addr, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
