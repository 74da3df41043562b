// Package servers starts real servers for tests: on free loopback ports, with
// their files in the test's temporary directory, and stopped when the test ends.
// What a server wrote is shown when its test fails. A server that is not
// installed fails the test with the command that installs it.
package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// TB is the part of testing.TB that servers need. A Process serves as well,
// where several tests share servers: see Shared.
type TB interface {
	Helper()
	TempDir() string
	Cleanup(func())
	Failed() bool
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// startWithin bounds how long a server may take to answer, on a busy machine.
const startWithin = 30 * time.Second

// A Server is one running program. Its methods are not safe for concurrent use,
// except Addr.
type Server struct {
	tb   TB
	addr string
	log  string
	path string
	args []string
	cmd  *exec.Cmd
}

// Addr is the server's address, such as 127.0.0.1:40123. It stays the same over
// Kill and Start.
func (s *Server) Addr() string { return s.addr }

// Port is the port of Addr.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return port
}

// start finds the program and runs it until the test ends.
func start(tb TB, program, install, dir, addr string, args ...string) *Server {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		tb.Fatalf("this test needs %s, which is not installed: %s", program, install)
	}
	s := &Server{tb: tb, addr: addr, log: filepath.Join(dir, "log"), path: path, args: args}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			out, _ := os.ReadFile(s.log)
			tb.Logf("%s on %s wrote:\n%s", program, addr, tail(out, 4000))
		}
	})
	s.Start()
	return s
}

// Start runs the server again after Kill, on the same port and with no data.
func (s *Server) Start() {
	s.tb.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatalf("servers: %v", err)
		return
	}
	defer log.Close()
	s.cmd = exec.Command(s.path, s.args...)
	s.cmd.Dir = filepath.Dir(s.log)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = dieWithParent()
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatalf("servers: %v", err)
	}
}

// Kill ends the server at once, as kill -9 does. It may be called twice.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Running tells whether the server was started and not killed since.
func (s *Server) Running() bool { return s.cmd != nil }

// Freeze stops the server in its tracks: connections stay open and nothing is
// answered, until Thaw.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("servers: signal %v: %v", sig, err)
	}
}

// until asks again until ready, or fails the test.
func until(tb TB, what string, ready func() error) {
	tb.Helper()
	var err error
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); pause() {
		if err = ready(); err == nil {
			return
		}
	}
	tb.Fatalf("servers: %s: %v", what, err)
}

// pause is the time between two looks at a server that is starting.
func pause() { <-time.After(10 * time.Millisecond) }

// given are the ports that this process gave out, so that none is given twice.
var given sync.Map

// Ports come from below the range that the system dials from: a client that dials
// a port of that range while its server is down can meet itself, and hold it.
const lowestPort, highestPort = 10000, 20000

// freeAddr is a loopback address that nobody listens on. With a distance, the
// port so much higher is free, too.
func freeAddr(tb TB, distance int) string {
	tb.Helper()
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if _, used := given.LoadOrStore(port, true); !used && free(port) && free(port+distance) {
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	tb.Fatalf("servers: no free port")
	return ""
}

func free(port int) bool {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func tail(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return string(b)
}

// A Process stands for a test where servers are shared by all tests of a
// package: TestMain makes one, starts servers on it and calls Close at the end.
type Process struct {
	dir     string
	cleanup []func()
	failed  bool
}

// Shared returns a Process, to be closed at the end.
func Shared() (*Process, error) {
	dir, err := os.MkdirTemp("", "servers")
	return &Process{dir: dir}, err
}

// Close stops the servers. Where failed, it prints what they wrote.
func (p *Process) Close(failed bool) error {
	p.failed = p.failed || failed
	for i := len(p.cleanup) - 1; i >= 0; i-- {
		p.cleanup[i]()
	}
	return os.RemoveAll(p.dir)
}

// Helper implements TB.
func (p *Process) Helper() {}

// Cleanup implements TB.
func (p *Process) Cleanup(f func()) { p.cleanup = append(p.cleanup, f) }

// Failed implements TB.
func (p *Process) Failed() bool { return p.failed }

// Logf implements TB.
func (p *Process) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// TempDir implements TB.
func (p *Process) TempDir() string {
	dir, err := os.MkdirTemp(p.dir, "")
	if err != nil {
		p.Fatalf("%v", err)
	}
	return dir
}

// Fatalf implements TB: it stops the servers and ends the process.
func (p *Process) Fatalf(format string, args ...any) {
	p.Logf(format, args...)
	_ = p.Close(true)
	os.Exit(1)
}

// errNotYet is the answer of a server that is not ready.
var errNotYet = errors.New("not ready")

func contains(reply, want string) error {
	if strings.Contains(reply, want) {
		return nil
	}
	return fmt.Errorf("%w: %q", errNotYet, reply)
}
