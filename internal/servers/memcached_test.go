package servers

import (
	"net"
	"slices"
	"strings"
	"testing"
)

func TestMemcachedIsPrivateAndGoneAtTheEnd(t *testing.T) {
	var addr string
	t.Run("running", func(t *testing.T) {
		s := Memcached(t)
		addr = s.Addr()
		s.Tell("set k 0 0 3\r\nabc")
		if got := s.Tell("get k"); !slices.Equal(got, []string{"VALUE k 0 3", "abc"}) {
			t.Errorf("get k: %q", got)
		}
		if got := s.Tell("stats settings"); !slices.Contains(got, "STAT inter 127.0.0.1") {
			t.Errorf("it listens elsewhere: %q", got)
		}
		s.Kill()
		s.Start()
		s.WaitMemcached()
		if got := s.Tell("get k"); len(got) != 0 {
			t.Errorf("after a restart get k: %q", got)
		}
	})
	if c, err := net.Dial("tcp", addr); err == nil {
		_ = c.Close()
		t.Error("the server outlived its test")
	}
}

func TestMemcachedOptions(t *testing.T) {
	small, large := Memcached(t, "-m", "1", "-I", "512k"), Memcached(t)
	if small.Addr() == large.Addr() {
		t.Errorf("both on %s", small.Addr())
	}
	for s, want := range map[*Server]string{small: "STAT limit_maxbytes 1048576", large: "STAT limit_maxbytes 67108864"} {
		if got := s.Tell("stats"); !slices.Contains(got, want) {
			t.Errorf("no %q in %s", want, strings.Join(got, "\n"))
		}
	}
}

func TestMissingMemcachedSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", "")
	s := &stub{TB: t}
	defer func() {
		recover()
		if !strings.Contains(s.said, "apt-get install -y memcached") {
			t.Errorf("said %q", s.said)
		}
	}()
	Memcached(s)
	t.Error("started a program that is not there")
}
