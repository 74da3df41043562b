// Package faultproxy stands between a client and a server in tests and breaks
// what goes through it, in the ways that networks and servers do.
package faultproxy

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Mode is what a Proxy does to connections, those that are open included. The
// zero Mode passes everything on.
type Mode struct {
	// Refuse closes the port: dialling fails at once.
	Refuse bool
	// Blackhole accepts connections and swallows what is sent, both ways.
	Blackhole bool
	// Delay holds every piece that the client sends.
	Delay time.Duration
	// Drip sends replies byte by byte with this time between.
	Drip time.Duration
	// DropReply passes a request on that contains these bytes, in lower case,
	// waits for the reply, and closes the connection in its place.
	DropReply []byte
	// ResetAfter, above 0, cuts each connection with a reset when that many bytes
	// were sent by the client. They reach the server.
	ResetAfter int
	// Corrupt changes replies before they are passed on.
	Corrupt func(reply []byte) []byte
}

// A Proxy listens on a loopback port. Its methods are safe for concurrent use.
type Proxy struct {
	addr, target string

	mu       sync.Mutex
	mode     Mode
	listener net.Listener
	conns    map[net.Conn]bool
	closed   bool
	wg       sync.WaitGroup
}

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// New starts a Proxy in front of target until the test ends.
func New(tb TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{target: target, conns: map[net.Conn]bool{}}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("faultproxy: %v", err)
	}
	p.addr, p.listener = l.Addr().String(), l
	p.wg.Go(func() { p.accept(l) })
	tb.Cleanup(p.close)
	return p
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.addr }

// Set changes the mode.
func (p *Proxy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	switch {
	case m.Refuse && p.listener != nil:
		_ = p.listener.Close()
		p.listener = nil
	case !m.Refuse && p.listener == nil && !p.closed:
		l, err := net.Listen("tcp4", p.addr)
		if err != nil {
			panic("faultproxy: the port was taken meanwhile: " + err.Error())
		}
		p.listener = l
		p.wg.Go(func() { p.accept(l) })
	}
}

// Cut resets all connections that are open.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

// Open is the number of connections that clients have open.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

func (p *Proxy) close() {
	p.Set(Mode{Refuse: true})
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.wg.Wait()
}

func (p *Proxy) now() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			reset(client)
			continue
		}
		if !p.add(client, server) {
			continue
		}
		c := &conn{client: client, server: server}
		p.wg.Go(func() { p.requests(c) })
		p.wg.Go(func() { p.replies(c) })
	}
}

// A conn is a connection and its continuation.
type conn struct {
	client, server net.Conn
	drop           atomic.Bool // the next reply
}

func (p *Proxy) add(cs ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cs {
		if p.closed {
			reset(c)
			continue
		}
		p.conns[c] = true
	}
	return !p.closed
}

// end closes both ends of a connection.
func (p *Proxy) end(cs ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cs {
		_ = c.Close()
		delete(p.conns, c)
	}
}

func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// requests carries what the client sends.
func (p *Proxy) requests(c *conn) {
	client, server := c.client, c.server
	defer p.end(client, server)
	buf, sent := make([]byte, 64<<10), 0
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		m, piece := p.now(), buf[:n]
		if m.Blackhole {
			continue
		}
		<-time.After(m.Delay)
		if m.ResetAfter > 0 && sent+n >= m.ResetAfter {
			_, _ = server.Write(piece[:max(0, m.ResetAfter-sent)])
			reset(client)
			return
		}
		sent += n
		if m.DropReply != nil && bytes.Contains(bytes.ToLower(piece), m.DropReply) {
			c.drop.Store(true)
		}
		if _, err := server.Write(piece); err != nil {
			return
		}
	}
}

// replies carries what the server answers.
func (p *Proxy) replies(c *conn) {
	client, server := c.client, c.server
	defer p.end(client, server)
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		m, piece := p.now(), buf[:n]
		if m.Corrupt != nil {
			piece = m.Corrupt(bytes.Clone(piece))
		}
		switch {
		case m.Blackhole:
			continue
		case c.drop.Load():
			return
		case m.Drip > 0:
			for i := range piece {
				<-time.After(m.Drip)
				if _, err := client.Write(piece[i : i+1]); err != nil {
					return
				}
			}
			continue
		}
		if _, err := client.Write(piece); err != nil {
			return
		}
	}
}
