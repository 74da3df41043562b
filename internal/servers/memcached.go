package servers

import (
	"bufio"
	"fmt"
	"net"
	"os/user"
	"strings"
	"time"
)

const installMemcached = "sudo apt-get install -y memcached (or: brew install memcached)"

// Memcached starts one memcached, with 64 MiB unless args say otherwise: they are
// further options, such as "-m", "1", "-I", "512k" (items of half of it at most).
func Memcached(tb TB, args ...string) *Server {
	tb.Helper()
	s := startMemcached(tb, args...)
	s.WaitMemcached()
	return s
}

// MemcachedUnready is Memcached for a server that nobody may ask whether it is
// ready: one that demands a password ("-Y", a file of lines "user:password").
func MemcachedUnready(tb TB, args ...string) *Server {
	tb.Helper()
	s := startMemcached(tb, args...)
	s.waitListening("memcached")
	return s
}

func startMemcached(tb TB, args ...string) *Server {
	tb.Helper()
	addr := freeAddr(tb, 0)
	_, port, _ := net.SplitHostPort(addr)
	all := []string{"-l", "127.0.0.1", "-p", port, "-U", "0"}
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		all = append(all, "-u", u.Username) // it will not be root unless told to
	}
	return start(tb, "memcached", installMemcached, tb.TempDir(), addr, append(all, args...)...)
}

// WaitMemcached waits until a memcached answers, after Start.
func (s *Server) WaitMemcached() {
	s.tb.Helper()
	until(s.tb, "memcached on "+s.addr+" does not answer", func() error {
		reply, err := s.tell("version")
		if err != nil {
			return err
		}
		return contains(strings.Join(reply, "\n"), "VERSION")
	})
}

// Tell sends one command of the text protocol to a memcached over a connection of
// its own, and returns the lines of the reply without the one that ends a list. A
// command with data has it after a line break: "set k 0 0 1\r\nv". An error reply
// fails the test.
func (s *Server) Tell(command string) []string {
	s.tb.Helper()
	lines, err := s.tell(command)
	if err != nil {
		s.tb.Fatalf("memcached %s: %s: %v", s.addr, command, err)
	}
	return lines
}

func (s *Server) tell(command string) ([]string, error) {
	c, err := net.DialTimeout("tcp", s.addr, time.Second)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return nil, err
	}
	var lines []string
	for r := bufio.NewReader(c); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		word, _, _ := strings.Cut(line, " ")
		switch word {
		case "END":
			return lines, nil
		case "ERROR", "CLIENT_ERROR", "SERVER_ERROR":
			return nil, fmt.Errorf("%s", line)
		case "STAT", "VALUE":
			lines = append(lines, line)
			continue
		}
		if len(lines) > 0 { // the data of a VALUE
			lines = append(lines, line)
			continue
		}
		return []string{line}, nil
	}
}
