package adaptertest

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stint-go/stint/core"
)

// patience bounds every wait for the network: it ends a row that hangs, no more.
const patience = 30 * time.Second

var (
	loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	// theProxy is who speaks for clients where there is one address only.
	theProxy = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
)

// distinct reports whether the machine has loopback addresses besides the first.
// Linux has; elsewhere clients are told apart by the forwarding fields of a named
// proxy instead, which proves less about the peer's address.
var distinct = sync.OnceValue(func() bool {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err == nil {
		l.Close()
	}
	return err == nil
})

// clientAddr is the address of the client of that number.
func clientAddr(client int) string { return fmt.Sprintf("127.0.0.%d", client) }

// clientKey is the key under which ByIP counts that client.
func clientKey(client int) core.Key {
	return core.KeyOfPrefix(netip.MustParsePrefix(clientAddr(client) + "/32"))
}

// A server is an application that is being served.
type server struct {
	*suite
	network, addr string
}

// serve serves the application on a port of its own.
func (s *suite) serve(app App) *server {
	s.Helper()
	return s.serveOn("tcp", "127.0.0.1:0", app)
}

func (s *suite) serveOn(network, addr string, app App) *server {
	s.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Serve(s.T, l, app)
	return &server{s, network, l.Addr().String()}
}

// A wire is a connection of a client.
type wire struct {
	*server
	client  int
	conn    net.Conn
	r       *bufio.Reader
	methods []string // of requests that are not yet answered
}

// dial connects as the client of that number; client 0 does not choose its
// address.
func (v *server) dial(client int) *wire {
	v.Helper()
	d := net.Dialer{Timeout: patience}
	if client > 1 && distinct() { // the first is where the kernel connects from
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(clientAddr(client))}
	}
	c, err := d.Dial(v.network, v.addr)
	if err != nil {
		v.Fatal(err)
	}
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0) // thousands of connections must not leave their ports waiting
	}
	v.Cleanup(func() { c.Close() })
	return &wire{server: v, client: client, conn: c, r: bufio.NewReader(c)}
}

// send is one request on a connection of its own: see wire.write.
func (v *server) send(client int, request string) *answer {
	v.Helper()
	w := v.dial(client)
	defer w.conn.Close()
	return w.send(request)
}

// ask is send without a place in the Record, for what may come out otherwise.
func (v *server) ask(client int, request string) *answer {
	v.Helper()
	w := v.dial(client)
	defer w.conn.Close()
	w.write(request)
	return w.peek()
}

func (w *wire) send(request string) *answer {
	w.Helper()
	w.write(request)
	return w.read()
}

// write sends a request without waiting for the answer. It is written down as
// "POST /path", then lines of header fields, then an empty line and the body,
// all but the first optional. Host and Content-Length are added where missing.
func (w *wire) write(requests ...string) {
	w.Helper()
	var b strings.Builder
	for _, r := range requests {
		b.WriteString(w.spell(r))
	}
	w.conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(w.conn, b.String()); err != nil {
		w.Logf("write: %v", err) // the answer tells what the server made of it
	}
}

func (w *wire) spell(request string) string {
	head, body, _ := strings.Cut(request, "\n\n")
	first, fields, _ := strings.Cut(head, "\n")
	method, _, _ := strings.Cut(first, " ")
	w.methods = append(w.methods, method)
	var b strings.Builder
	b.WriteString(first + " HTTP/1.1\r\nHost: example.org\r\n")
	for line := range strings.Lines(fields) {
		b.WriteString(strings.TrimSuffix(line, "\n") + "\r\n")
	}
	lower := strings.ToLower(fields)
	if body != "" && !strings.Contains(lower, "content-length:") && !strings.Contains(lower, "transfer-encoding:") {
		b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	if w.client > 0 && !distinct() {
		b.WriteString("X-Forwarded-For: " + clientAddr(w.client) + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.String()
}

// An answer is what a client got.
type answer struct {
	status int // 0: the connection ended without an answer
	header http.Header
	body   string
}

// read waits for the next answer.
func (w *wire) read() *answer {
	w.Helper()
	a := w.peek()
	w.note(a.transcript())
	return a
}

// peek is read without a place in the Record.
func (w *wire) peek() *answer {
	w.Helper()
	resp := w.head()
	if resp == nil {
		return &answer{}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Errorf("body of the answer: %v", err)
	}
	resp.Body.Close()
	if te := resp.TransferEncoding; len(te) > 0 {
		resp.Header["Transfer-Encoding"] = te
	}
	if w.Check != nil {
		w.Check(w.T, resp.Header)
	}
	return &answer{resp.StatusCode, resp.Header, string(body)}
}

// head waits for the head of the next answer; nil when the connection ended.
func (w *wire) head() *http.Response {
	w.Helper()
	var req *http.Request
	if len(w.methods) > 0 {
		req = &http.Request{Method: w.methods[0]}
		w.methods = w.methods[1:]
	}
	resp, err := http.ReadResponse(w.r, req)
	if err != nil {
		return nil
	}
	return resp
}

// The fields that Limiters send, each once at most.
var limiterFields = []string{"Ratelimit-Policy", "Ratelimit", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}

// String is what rows compare: status, fields of the Limiter, wait, and what the
// body says, separated by " | ". The body of a router's own answer is left out.
func (a *answer) String() string {
	if a.status == 0 {
		return "closed"
	}
	parts := []string{strconv.Itoa(a.status)}
	for _, name := range limiterFields {
		if v := a.header[name]; len(v) > 0 {
			parts = append(parts, strings.Join(v, " AND AGAIN "))
		}
	}
	if v := a.header["Retry-After"]; len(v) > 0 {
		parts = append(parts, "retry "+strings.Join(v, " AND AGAIN "))
	}
	if s := a.content(); s != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, " | ")
}

const quotaProblem = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":[`

// content is the body in short: which policies a refusal names, or what failed.
func (a *answer) content() string {
	if slices.Equal(a.header["Content-Type"], []string{"application/problem+json"}) {
		if names, ok := strings.CutPrefix(a.body, quotaProblem); ok && a.status == 429 {
			return "violated " + strings.TrimSuffix(names, "]}")
		}
		for status, title := range failures {
			if a.body == `{"type":"`+title[0]+`","title":"`+title[1]+`","status":`+strconv.Itoa(status)+`}` && status == a.status {
				return "problem"
			}
		}
	}
	if a.status == 404 || a.status == 405 || a.status/100 == 3 {
		return ""
	}
	return a.body
}

// failures are the problem documents of requests that could not be decided.
var failures = map[int][2]string{
	400: {"about:blank", "Bad Request"},
	413: {"about:blank", "Content Too Large"},
	415: {"about:blank", "Unsupported Media Type"},
	500: {"about:blank", "Internal Server Error"},
	503: {"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity", "Service Unavailable"},
}

// transcript is the answer in full, for the Record, but for what every server
// says in its own words.
func (a *answer) transcript() string {
	var b strings.Builder
	fmt.Fprintln(&b, a.status)
	own := a.content() == "" && a.status != 200
	for _, k := range slices.Sorted(maps.Keys(a.header)) {
		switch {
		case k == "Date", k == "Server", k == "Connection":
		case own && !slices.Contains(limiterFields, k) && k != "Retry-After":
		default:
			fmt.Fprintf(&b, "%s: %q\n", k, a.header[k])
		}
	}
	if !own {
		b.WriteString("\n" + a.body)
	}
	return b.String()
}

// expect wants an answer, in the form of answer.String.
func (s *suite) expect(a *answer, want string) {
	s.Helper()
	if got := a.String(); got != want {
		s.Errorf("got  %s\nwant %s", got, want)
	}
}

// admitted sends n equal requests of one client over one connection, as fast as
// it answers, and counts the answers that are 200; all others must be 429.
func (w *wire) admitted(n int, request func(i int) string) (passed int) {
	w.Helper()
	for i := range n {
		w.write(request(i))
		switch a := w.peek(); a.status {
		case 200:
			passed++
		case 429:
		default:
			w.Fatalf("request %d %.200q: %v", i, request(i), a)
		}
	}
	return passed
}
