package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	combinedLine = `203.0.113.7 - bob [17/May/2015:10:05:03 +0200] "GET /a?b=c HTTP/1.1" 200 2326 "http://example.com/" "Mozilla/5.0 \"quoted\""`
	caddyLine    = `{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"10.0.0.1","remote_port":"41342","client_ip":"203.0.113.7","proto":"HTTP/2.0","method":"POST","host":"example.com","uri":"/a?b=c","headers":{"User-Agent":["curl/7.82.0"],"X-Api-Key":["k1","k2"]},"tls":{"resumed":false}},"bytes_read":0,"user_id":"bob","status":200}`
	nginxLine    = `{"time_iso8601":"2022-03-09T21:30:01+00:00","msec":"1646861401.524","remote_addr":"203.0.113.7","remote_user":"bob","request":"POST /a?b=c HTTP/1.1","status":"200","http_user_agent":"curl","http_x_forwarded_for":"198.51.100.1"}`
	envoyLine    = `{"start_time":"2022-03-09T21:30:01.524Z","method":"POST","path":"/a?b=c","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","downstream_remote_address":"203.0.113.7:41342","x_forwarded_for":"198.51.100.1","authority":"example.com","user_agent":"curl"}`
	ownLine      = `{"at_ms":1646861401524.5,"ip":"203.0.113.7","user":"bob","method":"POST","path":"/a?b=c","route":"/:x","headers":{"x-api-key":"k1"},"form":{"name":"é"},"cost":3,"op":"peek"}`
)

func TestFormatsAreDetectedAndRead(t *testing.T) {
	at := time.Date(2022, 3, 9, 21, 30, 1, 524000000, time.UTC).UnixMicro()
	for _, c := range []struct {
		form, line string
		at         int64
		method     string
		headers    map[string]string
	}{
		{"combined", combinedLine, time.Date(2015, 5, 17, 8, 5, 3, 0, time.UTC).UnixMicro(), "GET",
			map[string]string{"Referer": "http://example.com/", "User-Agent": `Mozilla/5.0 \"quoted\"`}},
		{"combined", combinedLine[:strings.Index(combinedLine, ` "http:`)], time.Date(2015, 5, 17, 8, 5, 3, 0, time.UTC).UnixMicro(), "GET", nil},
		{"caddy", caddyLine, at + 102, "POST", map[string]string{"x-api-key": "k1", "Host": "example.com"}},
		{"nginx", nginxLine, at - 524000, "POST", map[string]string{"X-Forwarded-For": "198.51.100.1", "User-Agent": "curl"}},
		{"envoy", envoyLine, at, "POST", map[string]string{"X-Forwarded-For": "198.51.100.1"}},
		{"jsonl", ownLine, at + 500, "POST", map[string]string{"X-Api-Key": "k1", "Content-Type": "application/x-www-form-urlencoded"}},
	} {
		f, err := detect([]string{"# a comment", c.line})
		if err != nil || f.Name != c.form {
			t.Errorf("detected %v (%v), want %s", f, err, c.form)
			continue
		}
		var e Entry
		if err := f.parse(c.line, &e); err != nil {
			t.Errorf("%s: %v", c.form, err)
			continue
		}
		if e.At != c.at || e.Peer() != netip.MustParseAddr("203.0.113.7") || e.Method() != c.method || e.Path() != "/a" || e.Query("b") != "c" {
			t.Errorf("%s: %+v", c.form, e)
		}
		if e.UserName != "bob" && c.form != "envoy" {
			t.Errorf("%s: user %q", c.form, e.UserName)
		}
		for name, want := range c.headers {
			if got := e.Header(name); got != want {
				t.Errorf("%s: header %s is %q, want %q", c.form, name, got, want)
			}
		}
	}
	if f, err := detect([]string{"hello", "world"}); err == nil {
		t.Errorf("detected %s in prose", f.Name)
	}
}

func TestOwnLines(t *testing.T) {
	var e Entry
	if err := parseLine(ownLine, &e); err != nil {
		t.Fatal(err)
	}
	if body, err := e.Body(100); err != nil || string(body) != "name=%C3%A9" || e.Op != Peek || e.Cost != 3 || e.Route() != "/:x" || e.Keys != nil {
		t.Errorf("%+v, body %q, %v", e, body, err)
	}
	for line, want := range map[string][]string{
		`{"at_ms":0,"key":"a"}`:                               {"a"},
		`{"key":7,"at_ms":0}`:                                 {"7"},
		`{"at_ms":0,"keys":["a","b\n"]}`:                      {"a", "b\n"},
		` { "at_ms" : 1e3 , "key" : "\u00e9\"" , "x":[{}] } `: {"é\""},
		`{"at_ms":0,"key":null,"ip":"::1","other":{"a":[1]}}`: nil,
	} {
		var e Entry
		if err := parseLine(line, &e); err != nil || !slices.Equal(e.Keys, want) {
			t.Errorf("%s: keys %q, want %q (%v)", line, e.Keys, want, err)
		}
	}
	for _, line := range []string{
		``, `{`, `{}`, `[]`, `{"key":"a"}`, `{"at_ms":"0","key":"a"}`, `{"at_ms":-1}`, `{"at_ms":01}`, `{"at_ms":0,}`, `{"at_ms":0}x`,
		`{"at_ms":0,"key":"a}`, `{"at_ms":0,"key":{}}`, `{"at_ms":0,"cost":-1}`, `{"at_ms":0,"cost":1.5}`, `{"at_ms":0,"op":"give"}`,
		`{"at_ms":0,"keys":[]}`, `{"at_ms":0,"keys":["a",]}`, `{"at_ms":0,"ip":"nobody"}`, `{"at_ms":9e99}`, `{"at_ms":5000000000000000}`,
		`{"at_ms":0 "key":"a"}`, `{'at_ms':0}`, `{"at_ms":1.}`, `{"at_ms":.5}`, `{"at_ms":+1}`, `{"at_ms":0,"x":` + strings.Repeat("[", 1000),
	} {
		var e Entry
		if err := parseLine(line, &e); err == nil {
			t.Errorf("%.60s was read: %+v", line, e)
		}
	}
}

func TestInstantsAreExact(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "0.5": 500, "1700000000000.001": 1700000000000001, "1.0019": 1001, "12": 12000, "1.5e3": 1500000, "59999.999": 59999999,
	} {
		if got, err := millis(text); err != nil || got != want {
			t.Errorf("%s ms are %d µs (%v), want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]int64{
		"1646861401.5241024": 1646861401524102, "1646861401524": 1646861401524000, "17/May/2015:10:05:03 +0000": 1431857103000000,
		"2022-03-09T21:30:01Z": 1646861401000000, "2022-03-09T21:30:01+0000": 1646861401000000, "2022/03/09 21:30:01": 1646861401000000,
	} {
		if got, err := moment(text); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "17/Mai/2015:10:05:03 +0000", "99/May/2015:10:05:03 +0000", "30/Feb/2015:10:05:03 +0000", "01/May/7000:00:00:00 +0000", "1e300"} {
		if got, err := moment(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// lines is a trace of n entries, whose instants are their numbers, and of which
// every thousandth line is broken.
func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if i%1000 == 0 {
			b.WriteString("broken\r\n")
		} else {
			fmt.Fprintf(&b, "{\"at_ms\":%d,\"key\":\"k%d\"}\n", i, i%7)
		}
	}
	return b.String()
}

// collect reads everything.
func collect(t *testing.T, r *Reader) (ats []int64, broken []Broken, err error) {
	t.Helper()
	for b := range r.Batches(t.Context()) {
		for i := range b.Entries {
			ats = append(ats, b.Entries[i].At/1000)
		}
		broken = append(broken, b.Broken...)
		err = b.Err
	}
	return ats, broken, err
}

func TestOrderAndLineNumbersAreKept(t *testing.T) {
	const n = 20_000 // many chunks
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.gz")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, lines(n))
	w.Close()
	os.WriteFile(plain, []byte(lines(n)), 0o600)
	os.WriteFile(packed, z.Bytes(), 0o600)
	r, err := Open([]string{plain, packed, "-"}, "", strings.NewReader(lines(n)))
	if err != nil {
		t.Fatal(err)
	}
	ats, broken, err := collect(t, r)
	if err != nil {
		t.Fatal(err)
	}
	var want []int64
	for range 3 {
		for i := range int64(n) {
			if (i+1)%1000 != 0 {
				want = append(want, i+1)
			}
		}
	}
	if !slices.Equal(ats, want) {
		t.Errorf("%d entries in another order, want %d", len(ats), len(want))
	}
	if len(broken) != 3*n/1000 {
		t.Fatalf("%d broken lines, want %d", len(broken), 3*n/1000)
	}
	for i, b := range broken {
		if b.Line != i%20*1000+1000 || b.Text != "broken" {
			t.Errorf("broken line %d is %+v", i, b)
		}
	}
}

func TestInputsThatCanNotBeRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open([]string{filepath.Join(dir, "none"), dir}, "", nil); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("a file that is not there and a directory: %v, want both named", err)
	}
	if _, err := Open(nil, "iis", nil); err == nil {
		t.Error("an unknown format was taken")
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, lines(20_000))
	w.Close()
	r, _ := Open(nil, "", bytes.NewReader(z.Bytes()[:z.Len()/2]))
	if ats, _, err := collect(t, r); !errors.Is(err, io.ErrUnexpectedEOF) || len(ats) == 0 {
		t.Errorf("half a file gives %d entries and %v, want what there is and an unexpected end", len(ats), err)
	}
	r, _ = Open(nil, "", strings.NewReader("what is this?\n"))
	if _, _, err := collect(t, r); err == nil || !strings.Contains(err.Error(), "--format") {
		t.Errorf("an unknown form: %v", err)
	}
	r, _ = Open(nil, "", strings.NewReader(" \n\n"))
	if ats, broken, err := collect(t, r); err != nil || len(ats)+len(broken) > 0 {
		t.Errorf("an empty file: %v %v %v", ats, broken, err)
	}
	long := `{"at_ms":1,"x":"` + strings.Repeat("x", 5<<20) + "\"}\n{\"at_ms\":2}\n"
	r, _ = Open(nil, "jsonl", strings.NewReader(long))
	if ats, broken, err := collect(t, r); err != nil || len(ats) != 1 || len(broken) != 1 || broken[0].Line != 1 {
		t.Errorf("a line of 5 MiB: %v, %d broken, %v; want it broken and the next one read", ats, len(broken), err)
	}
}

// A reader that nobody writes to ends with its context.
func TestReadingEndsWithTheContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	r, _ := Open(nil, "jsonl", in)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range r.Batches(ctx) {
		t.Error("a batch after the end")
	}
}

func TestSortedPutsLateEntriesInOrder(t *testing.T) {
	sorted := func(late int64, ats ...int64) (out []int64) {
		one := func(yield func(*Batch) bool) {
			for _, at := range ats {
				if !yield(&Batch{Entries: []Entry{{At: at}}}) {
					return
				}
			}
		}
		for b := range Sorted(one, late) {
			for _, e := range b.Entries {
				out = append(out, e.At)
			}
		}
		return out
	}
	if got := sorted(10, 5, 1, 9, 3, 12, 8); !slices.Equal(got, []int64{1, 3, 5, 8, 9, 12}) {
		t.Errorf("sorted: %v", got)
	}
	if got := sorted(2, 5, 1, 9, 3, 20, 8); !slices.Equal(got, []int64{1, 5, 3, 9, 8, 20}) {
		t.Errorf("entries that are later than said come as soon as they can: %v", got)
	}
}
