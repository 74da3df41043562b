package adaptertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"

	"github.com/stint-go/stint/core"
)

var bodyRows = []row{
	{"bodies that keys are in are handed on byte-identical", bodiesHandedOn},
	{"a multipart body is handed on", multipartHandedOn},
	{"bodies of every size", bodySizes},
	{"broken bodies", brokenBodies},
	{"compressed bodies", compressedBodies},
	{"bodies that end too early, or are framed wrong", framing},
	{"a body is sent on request", expectContinue},
	{"a body that no key is in is left alone", untouchedBodies},
}

// withBody is an app whose limiter counts by a body's field, and whose handler
// answers with a digest of the body.
func (s *suite) withBody(by string) *server {
	s.Helper()
	return s.serve(routes(digest, []Layer{Limited(s.keyedLimiter(by, "1000/m", core.MissingIP))}, "POST /", "GET /"))
}

// outcome is the status and what the fields of a decision are followed by.
func (a *answer) outcome() string {
	s := a.String()
	return s[:3] + " " + s[strings.LastIndex(s, " | ")+len(" | "):]
}

// chunked is a body in chunks of n bytes.
func chunked(body string, n int) string {
	var b strings.Builder
	for len(body) > 0 {
		c := body[:min(n, len(body))]
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(c), c)
		body = body[len(c):]
	}
	return b.String() + "0\r\n\r\n"
}

func bodiesHandedOn(s *suite) {
	v := s.withBody("first(post:name,json:name)")
	padding := strings.Repeat("x%20", 5000)
	for _, c := range [][2]string{
		{urlencoded, "name=alice&b=%31&&=&c"},
		{urlencoded, "b=" + padding + "&name=alice"},
		{urlencoded, "name="},
		{jsonBody, "\n {\"name\" : \"al\\u0069ce\", \"b\":[1 ,2]}\n"},
		{jsonBody, "{\"name\":\"" + padding[:8000] + "\"}"},
		{"\nContent-Type: application/octet-stream\n\n", "\x00\x01\r\n\r\n\xff"},
		{"\n\n", "name=alice"},
	} {
		s.equal(fmt.Sprintf("%.60q", c[1]), v.send(1, "POST /"+c[0]+c[1]).outcome(), "200 "+digestOf(c[1]))
		for _, n := range []int{1 << 20, 1000} {
			a := v.send(1, "POST /\nTransfer-Encoding: chunked"+c[0]+chunked(c[1], n))
			s.equal(fmt.Sprintf("%.60q in chunks", c[1]), a.outcome(), "200 "+digestOf(c[1]))
		}
	}
	s.equal("no body", v.send(1, "POST /").outcome(), "200 "+digestOf(""))
	s.equal("a GET with a body", v.send(1, "GET /"+urlencoded+"name=alice").outcome(), "200 "+digestOf("name=alice"))
}

// multipartHandedOn: servers that parse such bodies beforehand have no bytes of
// them. Handler and limiter see the same fields all the same.
func multipartHandedOn(s *suite) {
	_, body, _ := strings.Cut(multipartBody, "\n\n")
	v := s.withBody("post:name")
	fate := "written anew"
	if v.ask(1, "POST /"+multipartBody).outcome() == "200 "+digestOf(body) {
		fate = "byte-identical"
	}
	s.differ("a multipart body is handed on", fate, "byte-identical")
}

func bodySizes(s *suite) {
	v := s.withBody("post:name")
	for _, n := range []int{core.DefaultBodyLimit - 1, core.DefaultBodyLimit, core.DefaultBodyLimit + 1, 1 << 20, 12 << 20} {
		body := "name=" + strings.Repeat("a", 100) + "&b="
		body += strings.Repeat("b", n-len(body))
		want := "413 problem"
		if n <= core.DefaultBodyLimit {
			want = "200 " + digestOf(body)
		}
		s.equal(fmt.Sprint(n, " bytes"), v.large("POST /"+urlencoded+body), want)
		s.equal(fmt.Sprint(n, " bytes in chunks"), v.large("POST /\nTransfer-Encoding: chunked"+urlencoded+chunked(body, 10000)), want)
	}
}

// large sends a request that the server may answer before it has read all of it,
// and then closes the connection: so the client writes and reads at once.
func (v *server) large(request string) string {
	v.Helper()
	w := v.dial(1)
	defer w.conn.Close()
	text := w.spell(request)
	w.conn.SetDeadline(time.Now().Add(patience))
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.conn.Write([]byte(text))
	}()
	a := w.peek()
	w.conn.Close()
	<-written
	return a.outcome()
}

func brokenBodies(s *suite) {
	form, json := s.withBody("post:name"), s.withBody("json:name")
	for _, body := range []string{"name=%zz", "name=a&b=%", "name=a;b=c"} {
		s.expect(form.send(1, "POST /"+urlencoded+body), `400 | problem`)
	}
	form.brokenTypes()
	for _, body := range []string{`{"name":"a"`, `{"name":"a"}}`, `{"name":"a","NAME":"b"}`, `{"name":{}}`, `{"name":["a"]}`, `[`, `{"name":1e999}`} {
		s.expect(json.send(1, "POST /"+jsonBody+body), `400 | problem`)
	}
}

// brokenTypes are bodies that are not what they say. Some servers find out
// before they call a handler.
func (v *server) brokenTypes() {
	const part = "\n\n--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nalice\r\n"
	for _, c := range [][2]string{
		{"no boundary", "\nContent-Type: multipart/form-data" + part + "--b--\r\n"},
		{"an empty boundary", "\nContent-Type: multipart/form-data; boundary=" + part + "--b--\r\n"},
		{"another boundary", "\nContent-Type: multipart/form-data; boundary=c" + part + "--b--\r\n"},
		{"two boundaries", "\nContent-Type: multipart/form-data; boundary=b; boundary=c" + part + "--b--\r\n"},
		{"no last boundary", "\nContent-Type: multipart/form-data; boundary=b" + part},
		{"two types in one", "\nContent-Type: application/x-www-form-urlencoded,x\n\nname=a"},
		{"two Content-Types", "\nContent-Type: text/plain" + urlencoded + "name=a"},
		{"no type", "\nContent-Type: /\n\nname=a"},
	} {
		v.differ(c[0], v.half("POST /"+c[1]), "400 problem")
	}
}

func compressedBodies(s *suite) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("name=alice"))
	z.Close()
	v := s.withBody("post:name")
	s.expect(v.send(1, "POST /\nContent-Encoding: gzip"+urlencoded+b.String()), `415 | problem`)
	s.expect(v.send(1, "POST /\nContent-Encoding: identity\nContent-Encoding: br"+urlencoded+b.String()), `415 | problem`)
	s.equal("identity", v.send(1, "POST /\nContent-Encoding: identity"+urlencoded+"name=a").outcome(), "200 "+digestOf("name=a"))
	other := s.withBody("ip")
	s.equal("gzip, and no key in it", other.send(1, "POST /\nContent-Encoding: gzip"+urlencoded+b.String()).outcome(), "200 "+digestOf(b.String()))
}

// framing sends what is no proper message, and then ends its side of the
// connection. Servers that read a body before they call a handler answer by
// themselves, or not at all. Whatever they do, the handler never sees another
// body than the limiter.
func framing(s *suite) {
	v := s.withBody("post:name")
	for _, c := range [][3]string{
		{"Content-Length above the body", "\nContent-Length: 99" + urlencoded + "name=alice", "400 problem"},
		{"Content-Length below the body", "\nContent-Length: 6" + urlencoded + "name=alice", "200 " + digestOf("name=a")},
		{"two Content-Lengths", "\nContent-Length: 6\nContent-Length: 10" + urlencoded + "name=alice", "400 without a word"},
		{"negative Content-Length", "\nContent-Length: -1" + urlencoded + "name=alice", "400 without a word"},
		{"chunk size that is no number", "\nTransfer-Encoding: chunked" + urlencoded + "zz\r\nname=alice\r\n0\r\n\r\n", "400 problem"},
		{"no last chunk", "\nTransfer-Encoding: chunked" + urlencoded + "a\r\nname=alice\r\n", "400 problem"},
		{"chunk longer than it says", "\nTransfer-Encoding: chunked" + urlencoded + "4\r\nname=alice\r\n0\r\n\r\n", "400 problem"},
		{"chunked twice", "\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked" + urlencoded + chunked("name=alice", 10), "501 without a word"},
		{"chunked with a Content-Length", "\nTransfer-Encoding: chunked\nContent-Length: 6" + urlencoded + chunked("name=alice", 10), "200 " + digestOf("name=alice")},
	} {
		s.differ(c[0], v.half("POST /"+c[1]), c[2])
	}
}

// half sends and then says that nothing more will come.
func (v *server) half(request string) string {
	v.Helper()
	w := v.dial(1)
	defer w.conn.Close()
	w.write(request)
	if c, ok := w.conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
	a := w.peek()
	switch {
	case a.status == 0:
		return "closed"
	case a.status/100 != 2 && a.content() != "problem":
		return fmt.Sprint(a.status, " without a word")
	}
	return a.outcome()
}

func expectContinue(s *suite) {
	v := s.withBody("post:name")
	w := v.dial(1)
	w.write("POST /\nExpect: 100-continue\nContent-Length: 10" + urlencoded)
	s.equal("first", w.peek().status, 100)
	w.conn.Write([]byte("name=alice"))
	w.methods = append(w.methods, "POST")
	s.equal("then", w.peek().outcome(), "200 "+digestOf("name=alice"))
}

func untouchedBodies(s *suite) {
	v := s.withBody("ip")
	big := strings.Repeat("0123456789abcdef", 1<<16)
	s.equal("1 MiB", v.large("POST /"+urlencoded+big), "200 "+digestOf(big))
	s.equal("broken", v.send(1, "POST /"+jsonBody+"{").outcome(), "200 "+digestOf("{"))
}
