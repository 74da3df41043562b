package servers

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestRedisIsPrivateAndGoneAtTheEnd(t *testing.T) {
	var addr string
	t.Run("running", func(t *testing.T) {
		s := Redis(t)
		addr = s.Addr()
		s.Do("SET", "k", "v")
		if got := s.Do("GET", "k"); got != "v" {
			t.Errorf("GET k = %q", got)
		}
		if got := s.Do("CONFIG", "GET", "bind"); !strings.HasSuffix(got, "127.0.0.1") {
			t.Errorf("it listens on %q", got)
		}
		s.Kill()
		s.Start()
		s.WaitReady()
		if got := s.Do("GET", "k"); got != "" {
			t.Errorf("after a restart GET k = %q", got)
		}
	})
	if c, err := net.Dial("tcp", addr); err == nil {
		_ = c.Close()
		t.Error("the server outlived its test")
	}
}

// stub is a test that notes what is said to it.
type stub struct {
	testing.TB
	said string
}

func (s *stub) Helper() {}
func (s *stub) Fatalf(format string, args ...any) {
	s.said = fmt.Sprintf(format, args...)
	panic(s)
}

func TestMissingProgramSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", "")
	s := &stub{TB: t}
	defer func() {
		recover()
		if !strings.Contains(s.said, "redis-server") || !strings.Contains(s.said, "apt-get install") {
			t.Errorf("said %q", s.said)
		}
	}()
	Redis(s)
	t.Error("started a program that is not there")
}

func TestCluster(t *testing.T) {
	c := RedisCluster(t)
	if got := c.Nodes[0].Do("CLUSTER", "INFO"); !strings.Contains(got, "cluster_slots_ok:16384") {
		t.Error(got)
	}
}

func TestSentinels(t *testing.T) {
	s := RedisSentinels(t)
	if got := s.Master(); got != s.Nodes[0].Addr() {
		t.Errorf("master %s, want %s", got, s.Nodes[0].Addr())
	}
}
