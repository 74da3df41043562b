package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server is a redis-server of our own.
type server struct {
	addr, dir string
	cmd       *exec.Cmd
}

var errNoRedis = errors.New(`redis-server is not installed. Install it with

	sudo apt-get install -y redis-server      (or: brew install redis)

or name a Redis that runs: -redis redis://127.0.0.1:6379`)

// startRedis starts one on a free port, which keeps nothing.
func startRedis(ctx context.Context) (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errNoRedis
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{addr: l.Addr().String()}
	l.Close()
	if s.dir, err = os.MkdirTemp("", "redis"); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no")
	if err := s.cmd.Start(); err != nil {
		os.RemoveAll(s.dir)
		return nil, err
	}
	return s, nil
}

func (s *server) stop() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	os.RemoveAll(s.dir)
}

// reach waits until Redis answers, for a few seconds at most.
func reach(ctx context.Context, url string) error {
	o, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("-redis %s: %w", url, err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		err := c.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[redis.Error](err); ok { // it answered: a password, for example
			return fmt.Errorf("redis on %s: %w", o.Addr, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis on %s does not answer: %w", o.Addr, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
