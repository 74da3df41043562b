package servers

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// programEnv names the environment variable with the server program that stands
// for redis-server, such as valkey-server. It takes the same options; its client
// program is found by its name.
const programEnv = "STINT_REDIS"

func redisServer() string { return cmp.Or(os.Getenv(programEnv), "redis-server") }

func redisCLI() string { return strings.Replace(filepath.Base(redisServer()), "-server", "-cli", 1) }

const installRedis = "sudo apt-get install -y redis-server (or: brew install redis)"

// Redis starts one redis-server that keeps nothing on disk. args are further
// options, such as "--maxmemory", "1mb".
func Redis(tb TB, args ...string) *Server {
	tb.Helper()
	s := startRedis(tb, freeAddr(tb, 0), args...)
	s.WaitReady()
	return s
}

// RedisUnready is Redis for a server that nobody may ask whether it is ready:
// one that demands a password.
func RedisUnready(tb TB, args ...string) *Server {
	tb.Helper()
	s := startRedis(tb, freeAddr(tb, 0), args...)
	s.waitListening("redis-server")
	return s
}

// RedisTLS is Redis for a server that speaks TLS only, with a certificate and its
// key in PEM files. Do does not reach it.
func RedisTLS(tb TB, cert, key string, args ...string) *Server {
	tb.Helper()
	addr := freeAddr(tb, 0)
	_, port, _ := net.SplitHostPort(addr)
	s := startRedis(tb, addr, append([]string{"--port", "0", "--tls-port", port, "--tls-cert-file", cert,
		"--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no"}, args...)...)
	s.waitListening("redis-server")
	return s
}

func (s *Server) waitListening(program string) {
	s.tb.Helper()
	until(s.tb, program+" on "+s.addr+" does not listen", func() error {
		c, err := net.DialTimeout("tcp", s.addr, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
}

func startRedis(tb TB, addr string, args ...string) *Server {
	tb.Helper()
	dir := tb.TempDir()
	_, port, _ := net.SplitHostPort(addr)
	all := append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--enable-debug-command", "local",
	}, args...)
	return start(tb, redisServer(), installRedis, dir, addr, all...)
}

// WaitReady waits until a Redis server answers, after Start.
func (s *Server) WaitReady() {
	s.tb.Helper()
	until(s.tb, "redis-server on "+s.addr+" does not answer", func() error {
		reply, err := s.try("PING")
		if err != nil {
			return err
		}
		return contains(reply, "PONG")
	})
}

// Do sends one command to a Redis server over a connection of its own and
// returns the reply as text, elements of an array on a line each. An error
// reply fails the test.
func (s *Server) Do(args ...string) string {
	s.tb.Helper()
	reply, err := s.try(args...)
	if err != nil {
		s.tb.Fatalf("redis %s: %s: %v", s.addr, strings.Join(args, " "), err)
	}
	return reply
}

func (s *Server) try(args ...string) (string, error) {
	c, err := net.DialTimeout("tcp", s.addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(c))
}

func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", io.ErrUnexpectedEOF
	}
	rest := line[1:]
	switch line[0] {
	case '-':
		return "", errors.New(rest)
	case '$':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return "", err
		}
		b := make([]byte, n+2)
		_, err = io.ReadFull(r, b)
		return string(b[:n]), err
	case '*':
		n, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		var lines []string
		for range n {
			element, err := readReply(r)
			if err != nil {
				return "", err
			}
			lines = append(lines, element)
		}
		return strings.Join(lines, "\n"), nil
	}
	return rest, nil
}
