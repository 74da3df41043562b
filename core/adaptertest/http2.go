package adaptertest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// http2Burst sends 500 requests of one connection in a single write, as an
// attacker does who wants them judged before any of them is counted.
func http2Burst(s *suite) {
	if !s.HTTP2 {
		return
	}
	defer func() { s.lines = nil }() // not all serve it
	const streams, limit = 500, 100
	var handled atomic.Int64
	l := s.limiter(exact("api", "101/m"))
	app := routes(counted(&handled), []Layer{Limited(l)}, "GET /")
	app.Layers = []Layer{Limited(l)}
	v := s.serve(app)
	var conn *burst
	t := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		conn = &burst{Conn: c}
		return conn, err
	}}
	t.Protocols.SetUnencryptedHTTP2(true)
	v.Cleanup(t.CloseIdleConnections)
	get := func() int {
		resp, err := (&http.Client{Transport: t, Timeout: patience}).Get("http://" + v.addr + "/")
		if err != nil {
			s.Error(err)
			return 0
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		if resp.ProtoMajor != 2 || len(resp.Header["Ratelimit"]) != 1 {
			s.Errorf("%s with Ratelimit %q", resp.Proto, resp.Header["Ratelimit"])
		}
		return resp.StatusCode
	}
	s.equal("the first", get(), 200) // and the two sides know each other's settings
	conn.hold(streams)
	var passed, refused atomic.Int64
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			switch get() {
			case 200:
				passed.Add(1)
			case 429:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	s.equal("writes that the streams took", conn.released.Load(), int64(1))
	s.equal("passed, refused, handled", [3]int64{passed.Load(), refused.Load(), handled.Load()}, [3]int64{limit, streams - limit, limit + 1})
}

// burst is a connection that holds back what is written until a number of
// streams have begun in it.
type burst struct {
	net.Conn
	released atomic.Int64

	mu     sync.Mutex
	wanted int
	held   bytes.Buffer
}

func (b *burst) hold(streams int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = streams
}

func (b *burst) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wanted == 0 {
		return b.Conn.Write(p)
	}
	b.held.Write(p)
	if headersFrames(b.held.Bytes()) < b.wanted {
		return len(p), nil
	}
	b.wanted = 0
	b.released.Add(1)
	if _, err := b.Conn.Write(b.held.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// headersFrames counts the HEADERS frames (RFC 9113, section 4.1) of whole
// frames.
func headersFrames(b []byte) (n int) {
	for len(b) >= 9 {
		length := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if b[3] == 1 {
			n++
		}
		b = b[min(len(b), 9+length):]
	}
	return n
}
