package core

import (
	"context"
	"io"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"
)

// A fakeNative is a request without a framework.
type fakeNative struct {
	method, route, peer string
	header              map[string][]string
	query               url.Values
	body                io.ReadCloser
	reads               int // calls of Body
}

var _ Native = (*fakeNative)(nil)

func (n *fakeNative) Context() context.Context  { return context.Background() }
func (n *fakeNative) Method() string            { return n.method }
func (n *fakeNative) Path() string              { return "/as/spelled" }
func (n *fakeNative) Route() string             { return n.route }
func (n *fakeNative) Header(name string) string { return textproto.MIMEHeader(n.header).Get(name) }
func (n *fakeNative) HeaderValues(name string) []string {
	return textproto.MIMEHeader(n.header).Values(name)
}
func (n *fakeNative) Query(name string) string { return n.query.Get(name) }
func (n *fakeNative) Unwrap() any              { return n }

func (n *fakeNative) Peer() netip.Addr {
	a, _ := netip.ParseAddr(n.peer)
	return a
}

func (n *fakeNative) Body(limit int) (head []byte, err error) {
	n.reads++
	head, n.body, err = PeekBody(n.body, -1, limit)
	return head, err
}

// post is a request with a body.
func post(contentType, body string) *fakeNative {
	n := &fakeNative{method: "POST", peer: "192.0.2.1", header: map[string][]string{}, body: io.NopCloser(strings.NewReader(body))}
	if contentType != "" {
		n.header["Content-Type"] = []string{contentType}
	}
	return n
}

// wrap makes a request of n; users are who the header User says.
func wrap(n *fakeNative) *request {
	var r request
	r.reset(n, &requestEnv{clientIP: Native.Peer, user: func(r Request) string { return r.Header("User") }})
	return &r
}
