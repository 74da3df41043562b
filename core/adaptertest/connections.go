package adaptertest

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/stint-go/stint/core"
)

var connectionRows = []row{
	{"keep-alive with alternating values", keepAlive},
	{"pipelined requests", pipelined},
	{"a stream arrives as it is written", streaming},
	{"clients that go away are charged", clientAborts},
	{"many connections at once admit exactly the limit", concurrency},
	{"HTTP/2 streams in one write admit exactly the limit", http2Burst},
}

func keepAlive(s *suite) {
	l := s.keyedLimiter("header:X-Api-Key", "3/m", core.MissingIP)
	w := s.serve(route("GET", "/", ok, Limited(l))).dial(1)
	for i, name := range []string{"alice", "bobby", "carol", "alice", "al", "carol", "bobby", "alice", "alice"} {
		want := 200
		if i == 8 {
			want = 429
		}
		s.equal(name, w.send("GET /\nX-Api-Key: "+name).status, want)
	}
	for name, left := range map[string]int64{"alice": 0, "bobby": 1, "carol": 1, "al": 2} {
		if got := s.remaining(l, "api", core.KeyOf(core.KindHeader, "X-Api-Key", name)); got != left {
			s.Errorf("left for %s: %d, want %d", name, got, left)
		}
	}
}

// pipelined sends all requests in one write, before any answer.
func pipelined(s *suite) {
	l := s.limiter(exact("api", "10/m"))
	app := routes(digest, []Layer{Limited(l)}, "POST /")
	app.Layers = []Layer{Limited(l)}
	w := s.serve(app).dial(1)
	var requests []string
	for i := range 30 {
		requests = append(requests, fmt.Sprintf("POST /\n\nbody %d", i))
	}
	w.write(requests...)
	for i := range requests {
		want := fmt.Sprintf(`200 | "api";q=10;w=60 | "api";r=%d;t=60 | %s`, 9-i, digestOf(fmt.Sprint("body ", i)))
		if i >= 10 {
			want = `429 | "api";q=10;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`
		}
		s.expect(w.read(), want)
	}
}

// streaming has the client ask for the second chunk when it has read the first.
func streaming(s *suite) {
	asked := make(chan struct{})
	stream := func(x Exchange) {
		x.Stream(func(yield func(string) bool) {
			if yield("first,") {
				<-asked
				yield("second")
			}
		})
	}
	l := s.limiter(exact("api", "1/m"))
	w := s.serve(route("GET", "/", stream, Limited(l))).dial(1)
	goOn := sync.OnceFunc(func() { close(asked) })
	s.Cleanup(goOn)
	w.write("GET /")
	resp := w.head()
	s.equal("fields before the first chunk", fmt.Sprint(resp.StatusCode, resp.Header["Ratelimit"]), `200 ["api";r=0;t=60]`)
	b := make([]byte, len("first,"))
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		s.Fatal(err)
	}
	s.equal("first chunk", string(b), "first,")
	goOn()
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	s.equal("the rest", string(rest), "second")
	s.expect(w.send("GET /"), `429 | "api";q=1;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}

// clientAborts: the client hangs up while the handler runs. Its request was
// made: it is charged, once.
func clientAborts(s *suite) {
	n := s.times(100)
	entered, release := make(chan struct{}, n+1), make(chan struct{})
	wait := func(x Exchange) {
		entered <- struct{}{}
		<-release
		x.Text(200, "late")
	}
	l := s.limiter(exact("api", fmt.Sprint(n, "/m")))
	v := s.serve(route("GET", "/", wait, Limited(l)))
	s.Cleanup(func() { close(release) }) // before the server waits for its handlers
	for range n {
		w := v.dial(1)
		w.write("GET /")
		<-entered
		w.conn.Close()
		release <- struct{}{}
	}
	s.equal("left", s.remaining(l, "api", clientKey(1)), int64(0))
	s.equal("the next one", v.send(1, "GET /").status, 429)
}

func concurrency(s *suite) {
	const limit, workers, each = 100, 16, 20
	l := s.limiter(exact("api", fmt.Sprint(limit, "/m")), counting("key", "1000/m", core.ByHeader("X-Api-Key")))
	var handled, passed atomic.Int64
	app := routes(counted(&handled), []Layer{Limited(l)}, "GET /")
	app.Layers = []Layer{Limited(l)}
	v := s.serve(app)
	var wg sync.WaitGroup
	for i := range workers {
		w := v.dial(1)
		wg.Go(func() {
			passed.Add(int64(w.admitted(each, func(int) string { return fmt.Sprintf("GET /\nX-Api-Key: %d", i) })))
		})
	}
	wg.Wait()
	s.equal("admitted and handled", [2]int64{passed.Load(), handled.Load()}, [2]int64{limit, limit})
	var spent int64
	for i := range workers {
		spent += 1000 - s.remaining(l, "key", core.KeyOf(core.KindHeader, "X-Api-Key", fmt.Sprint(i)))
	}
	s.equal("charged under all keys", spent, int64(limit))
}
