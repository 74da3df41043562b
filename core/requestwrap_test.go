package core

import (
	"errors"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRequestWorksThingsOutOnce(t *testing.T) {
	ips, users := 0, 0
	n := post(mediaURLEncoded, "f=b&g=c")
	env := &requestEnv{
		clientIP: func(Native) netip.Addr { ips++; return netip.MustParseAddr("::ffff:192.0.2.1%x") },
		user:     func(r Request) string { users++; return "u" + r.User() },
	}
	var r request
	r.reset(n, env)
	for range 3 {
		if r.IP() != netip.MustParseAddr("192.0.2.1") || r.User() != "u" || r.Form("f") != "b" || r.Form("g") != "c" || r.Form("x") != "" || r.JSON("f") != "" {
			t.Fatalf("%v %q %q %q %q", r.IP(), r.User(), r.Form("f"), r.Form("g"), r.JSON("f"))
		}
	}
	if ips != 1 || users != 1 || n.reads != 1 {
		t.Errorf("address %d, user %d, body %d times", ips, users, n.reads)
	}
}

func TestRequestAsksForNothingUnasked(t *testing.T) {
	n := post(mediaURLEncoded, "f=b")
	var r request
	r.reset(n, &requestEnv{clientIP: func(Native) netip.Addr { t.Error("asked for the address"); return netip.Addr{} }})
	if r.Header("X") != "" || r.User() != "" || n.reads != 0 {
		t.Error("something was read")
	}
	n.header["Content-Type"] = []string{"image/png"}
	if r.Form("f") != "" || n.reads != 0 {
		t.Error("an image was read to look for a form")
	}
}

func TestResetForgetsTheRequestBefore(t *testing.T) {
	env := &requestEnv{clientIP: Native.Peer, user: func(r Request) string { return r.Header("User") }}
	a, b := post(mediaURLEncoded, "f=a"), post("application/json", `{"f":"b"}`)
	a.header["User"], b.peer = []string{"alice"}, "192.0.2.2"
	var r request
	r.reset(a, env)
	r.IP()
	r.User()
	r.Form("f")
	r.fail(errors.New("x"))
	r.reset(b, env)
	if r.err != nil || r.User() != "" || r.IP().String() != "192.0.2.2" || r.Form("f") != "" || r.JSON("f") != "b" {
		t.Errorf("%v %q %v %q %q", r.err, r.User(), r.IP(), r.Form("f"), r.JSON("f"))
	}
	r.reset(nil, env)
	if r.Native != nil || r.body != nil || len(r.fields) != 0 || r.fields[:1][0] != (bodyField{}) {
		t.Error("a request that is put back keeps something")
	}
}

func TestFirstErrorStays(t *testing.T) {
	n := post(mediaURLEncoded, "f=%zz")
	r := wrap(n)
	if r.Form("f") != "" || !errors.Is(r.err, ErrBodyBroken) {
		t.Fatal(r.err)
	}
	before := r.err
	n.header["Content-Encoding"] = []string{"gzip"}
	if r.Form("g") != "" || r.JSON("g") != "" || r.err != before {
		t.Errorf("%v became %v", before, r.err)
	}
}

func TestFailingBodyIsBrokenForUsAndForTheHandler(t *testing.T) {
	cause := errors.New("reset by peer")
	n := post("application/json", "")
	n.body = io.NopCloser(io.MultiReader(strings.NewReader(`{"f":"b"}`), iotest.ErrReader(cause)))
	r := wrap(n)
	if r.JSON("f") != "" || !errors.Is(r.err, ErrBodyBroken) || !errors.Is(r.err, cause) {
		t.Errorf("%v", r.err)
	}
	if b, err := io.ReadAll(n.body); string(b) != `{"f":"b"}` || err != cause {
		t.Errorf("the handler reads %q, %v", b, err)
	}
}

// brokenBody is an adapter whose errors are its own.
type brokenBody struct{ *fakeNative }

func (brokenBody) Body(int) ([]byte, error) { return nil, io.ErrClosedPipe }

func TestUnknownBodyErrorsAreBrokenBodies(t *testing.T) {
	var r request
	r.reset(brokenBody{post(mediaURLEncoded, "")}, &requestEnv{})
	if r.Form("f"); !errors.Is(r.err, ErrBodyBroken) || !errors.Is(r.err, io.ErrClosedPipe) {
		t.Error(r.err)
	}
}

func TestBodyLimitIsTheConfiguredOne(t *testing.T) {
	r := wrap(post(mediaURLEncoded, "f=12345"))
	if r.env.bodyLimit = 7; r.Form("f") != "12345" {
		t.Error(r.err)
	}
	r = wrap(post(mediaURLEncoded, "f=12345"))
	if r.env.bodyLimit = 6; r.Form("f") != "" || !errors.Is(r.err, ErrBodyTooLarge) {
		t.Error(r.err)
	}
}

func TestFormIsNeverTheQuery(t *testing.T) {
	n := post(mediaURLEncoded, "g=1")
	n.query = url.Values{"f": {"q"}}
	if got := wrap(n).Form("f"); got != "" {
		t.Errorf("%q from the query", got)
	}
}
