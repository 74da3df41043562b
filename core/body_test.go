package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

type closeCounter struct {
	io.Reader
	read   int
	closed int
}

func (c *closeCounter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += n
	return n, err
}

func (c *closeCounter) Close() error { c.closed++; return nil }

// A failingOnce forgets that it has failed, as some bodies do.
type failingOnce struct{ err error }

func (f *failingOnce) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

// checkPeek: whatever comes of peeking, the body reads as if nobody had peeked.
func checkPeek(t *testing.T, data []byte, limit int, fail error, wrap func(io.Reader) io.Reader) {
	t.Helper()
	var src io.Reader = bytes.NewReader(data)
	if fail != nil {
		src = io.MultiReader(src, &failingOnce{fail})
	}
	body := &closeCounter{Reader: wrap(src)}
	head, restored, err := PeekBody(body, -1, limit)
	switch {
	case len(data) > limit:
		if !errors.Is(err, ErrBodyTooLarge) || head != nil {
			t.Fatalf("%d bytes, limit %d: %d bytes, %v", len(data), limit, len(head), err)
		}
	case fail != nil:
		if !errors.Is(err, ErrBodyBroken) || !errors.Is(err, fail) || head != nil {
			t.Fatalf("failing body: %d bytes, %v", len(head), err)
		}
	case err != nil || !bytes.Equal(head, data):
		t.Fatalf("%d bytes, limit %d: %d bytes, %v", len(data), limit, len(head), err)
	}
	if body.read > limit+1 {
		t.Fatalf("%d bytes read ahead, limit %d", body.read, limit)
	}
	again, err := io.ReadAll(restored)
	if !bytes.Equal(again, data) || err != fail {
		t.Fatalf("read again: %d bytes of %d, %v, want %v", len(again), len(data), err, fail)
	}
	restored.Close()
	if body.closed != 1 {
		t.Fatal("the body is not closed")
	}
}

func plainReader(r io.Reader) io.Reader { return r }

func TestPeekBodyLeavesTheBody(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	for _, fail := range []error{nil, io.ErrUnexpectedEOF} {
		for _, wrap := range []func(io.Reader) io.Reader{plainReader, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			for _, c := range [][2]int{{0, 0}, {0, 10}, {1, 0}, {63, 64}, {64, 64}, {65, 64}, {66, 64}, {len(data), 64 << 10}, {len(data), 64<<10 - 1}} {
				checkPeek(t, data[:c[0]], c[1], fail, wrap)
			}
		}
	}
	if head, body, err := PeekBody(nil, -1, 10); head != nil || body != nil || err != nil {
		t.Error("a nil body is not an empty one")
	}
	if _, body, err := PeekBody(io.NopCloser(strings.NewReader("x")), -1, -5); !errors.Is(err, ErrBodyTooLarge) || body == nil {
		t.Error("a negative limit admits something")
	}
	if _, _, err := PeekBody(io.NopCloser(strings.NewReader("x")), -1, int(^uint(0)>>1)); err != nil {
		t.Error(err)
	}
}

const testBoundary = "----b"

// parts writes a multipart body: name, filename, value.
func parts(fields ...[3]string) string {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	w.SetBoundary(testBoundary)
	for _, f := range fields {
		if f[1] != "" {
			p, _ := w.CreateFormFile(f[0], f[1])
			io.WriteString(p, f[2])
		} else {
			w.WriteField(f[0], f[2])
		}
	}
	w.Close()
	return b.String()
}

func TestFormValues(t *testing.T) {
	multi := mediaMultipart + "; boundary=" + testBoundary
	for _, c := range []struct {
		what, contentType, body, want string
		err                           error
	}{
		{"simple", mediaURLEncoded, "a=1&f=bob", "bob", nil},
		{"charset and case", "Application/X-WWW-Form-URLEncoded; charset=utf-8", "f=bob", "bob", nil},
		{"first of two", mediaURLEncoded, "f=a&f=b", "a", nil},
		{"an empty first one counts", mediaURLEncoded, "f=&f=b", "", nil},
		{"escapes", mediaURLEncoded, "%66=%C3%A4+b", "ä b", nil},
		{"case matters", mediaURLEncoded, "F=b", "", nil},
		{"no value", mediaURLEncoded, "f", "", nil},
		{"empty", mediaURLEncoded, "", "", nil},
		{"bad escape before", mediaURLEncoded, "%zz=1&f=b", "", ErrBodyBroken},
		{"bad escape behind", mediaURLEncoded, "f=b&x=%1", "", ErrBodyBroken},
		{"semicolon", mediaURLEncoded, "f=b;x=1", "", ErrBodyBroken},
		{"no content type", "", "f=b", "", nil},
		{"json", "application/json", "f=b", "", nil},
		{"bad parameter", mediaURLEncoded + "; =", "f=b", "", ErrBodyBroken},
		{"almost", mediaURLEncoded + "x", "f=b", "", ErrBodyBroken},
		{"bad type", "/", "f=b", "", ErrBodyBroken},
		{"multipart", multi, parts([3]string{"a", "", "1"}, [3]string{"f", "", "bob"}), "bob", nil},
		{"multipart first", multi, parts([3]string{"f", "", "a"}, [3]string{"f", "", "b"}), "a", nil},
		{"files are no values", multi, parts([3]string{"f", "x.txt", "file"}, [3]string{"f", "", "b"}), "b", nil},
		{"multipart empty body", multi, "", "", nil},
		{"multipart cut off", multi, strings.TrimSuffix(parts([3]string{"f", "", "b"}), "--"+testBoundary+"--\r\n"), "", ErrBodyBroken},
		{"multipart cut off in a header", multi, "--" + testBoundary + "\r\nContent-Disp", "", ErrBodyBroken},
		{"multipart garbage", multi, "f=b", "", ErrBodyBroken},
		{"no boundary", mediaMultipart, parts([3]string{"f", "", "b"}), "", ErrBodyBroken},
		{"two boundaries", mediaMultipart + `; x="boundary=a"; boundary=` + testBoundary, parts([3]string{"f", "", "b"}), "", ErrBodyBroken},
		{"almost multipart", mediaMultipart + "s; boundary=" + testBoundary, parts([3]string{"f", "", "b"}), "", ErrBodyBroken},
		{"mixed", "multipart/mixed; boundary=" + testBoundary, parts([3]string{"f", "", "b"}), "", nil},
		{"at the limit", mediaURLEncoded, "f=b&x=" + strings.Repeat("x", DefaultBodyLimit-6), "b", nil},
		{"above the limit", mediaURLEncoded, "f=b&x=" + strings.Repeat("x", DefaultBodyLimit-5), "", ErrBodyTooLarge},
		{"too many parts", multi, strings.Repeat("--"+testBoundary+"\r\n\r\n\r\n", maxParts+1) + "--" + testBoundary + "--", "", ErrBodyTooLarge},
	} {
		n := post(c.contentType, c.body)
		r := wrap(n)
		if got := r.Form("f"); got != c.want || !errors.Is(r.err, c.err) || (c.err == nil) != (r.err == nil) {
			t.Errorf("%s: %q, %v; want %q, %v", c.what, got, r.err, c.want, c.err)
		}
		if again, err := io.ReadAll(n.body); err != nil || string(again) != c.body {
			t.Errorf("%s: the handler reads %d bytes of %d, %v", c.what, len(again), len(c.body), err)
		}
	}
}

func TestJSONValues(t *testing.T) {
	const js = "application/json"
	for _, c := range []struct {
		what, contentType, body, want string
		err                           error
	}{
		{"string", js, ` {"a":{"f":"no"},"b":["f",{}],"f" : "bob" } `, "bob", nil},
		{"escapes", js, `{"\u0066":"\u00e4\"\\\ud83d\ude00"}`, "ä\"\\😀", nil},
		{"brackets in strings", js, `{"a":"}]\"{","f":"b"}`, "b", nil},
		{"case", js, `{"F":"bob"}`, "bob", nil},
		{"suffix", "application/problem+json", `{"f":"bob"}`, "bob", nil},
		{"another type", "text/plain", ` {"f":"bob"}`, "bob", nil},
		{"no type", "", `{"f":"bob"}`, "bob", nil},
		{"form type", mediaURLEncoded, `{"f":"bob"}`, "bob", nil},
		{"true", js, `{"f":true}`, "true", nil},
		{"false", js, `{"f":false,"g":1}`, "false", nil},
		{"null", js, `{"f":null}`, "", nil},
		{"integer", js, `{"f":12345678901234567890123}`, "12345678901234567890123", nil},
		{"spelled as a float", js, `{"f":10e-1}`, "1", nil},
		{"negative zero", js, `{"f":-0}`, "0", nil},
		{"float", js, `{"f":1.50}`, "1.5", nil},
		{"large float", js, `{"f":1.0e300}`, "1e+300", nil},
		{"number out of range", js, `{"f":1e999}`, "", ErrBodyBroken},
		{"object", js, `{"f":{"$ne":""}}`, "", ErrBodyBroken},
		{"array", js, `{"f":["bob"]}`, "", ErrBodyBroken},
		{"twice", js, `{"f":"a","f":"b"}`, "", ErrBodyBroken},
		{"twice, folded", js, `{"f":"a","F":"b"}`, "", ErrBodyBroken},
		{"twice, one null", js, `{"f":"a","F":null}`, "", ErrBodyBroken},
		{"no such field", js, `{"g":1}`, "", nil},
		{"empty object", js, `{ }`, "", nil},
		{"empty body", js, ``, "", nil},
		{"blank body", js, ` `, "", nil},
		{"array document", js, `[{"f":"b"}]`, "", nil},
		{"string document", js, `"f"`, "", nil},
		{"broken", js, `{"f":"b"`, "", ErrBodyBroken},
		{"trailing garbage", js, `{"f":"b"} x`, "", ErrBodyBroken},
		{"second document", "text/plain", `{"f":"b"}{"f":"c"}`, "", ErrBodyBroken},
		{"called json", js, `f=b`, "", ErrBodyBroken},
		{"byte order mark", js, "\ufeff{}", "", ErrBodyBroken},
		{"not json", "text/plain", `f=b`, "", nil},
		{"too deep", js, `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "", ErrBodyBroken},
		{"too large", js, `{"f":"` + strings.Repeat("x", DefaultBodyLimit) + `"}`, "", ErrBodyTooLarge},
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			n := post(c.contentType, c.body)
			n.method = method
			r := wrap(n)
			if got := r.JSON("f"); got != c.want || !errors.Is(r.err, c.err) || (c.err == nil) != (r.err == nil) {
				t.Errorf("%s: %q, %v; want %q, %v", c.what, got, r.err, c.want, c.err)
			}
			if again, err := io.ReadAll(n.body); err != nil || string(again) != c.body {
				t.Errorf("%s: the handler reads %d bytes of %d, %v", c.what, len(again), len(c.body), err)
			}
		}
	}
}

func TestOnlySomeMethodsHaveAForm(t *testing.T) {
	for method, want := range map[string]string{"POST": "b", "PUT": "b", "PATCH": "b", "GET": "", "HEAD": "", "DELETE": "", "post": ""} {
		n := post(mediaURLEncoded, "f=b")
		n.method = method
		if got := wrap(n).Form("f"); got != want {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
}

func TestCompressedBodyIsRefused(t *testing.T) {
	for value, want := range map[string]error{"gzip": ErrBodyEncoding, "identity, br": ErrBodyEncoding, "Identity": nil, " ": nil} {
		for _, ask := range []func(*request) string{func(r *request) string { return r.Form("f") }, func(r *request) string { return r.JSON("f") }} {
			n := post(mediaURLEncoded, "f=b")
			n.header["Content-Encoding"] = []string{"", value}
			r := wrap(n)
			ask(r)
			if !errors.Is(r.err, want) || want == nil && r.err != nil {
				t.Errorf("%q: %v, want %v", value, r.err, want)
			}
		}
	}
	n := post(mediaURLEncoded, "f=b")
	n.header["Content-Type"] = []string{mediaURLEncoded, "text/plain"}
	if r := wrap(n); r.Form("f") != "" || !errors.Is(r.err, ErrBodyBroken) {
		t.Errorf("two types: %v", r.err)
	}
}

// Different spellings that net/http reads as a form are read as the same form.
func FuzzBody(f *testing.F) {
	f.Add([]byte("a=1&f=b"), 100, false)
	f.Add([]byte("f=%C3%A4;"), 3, true)
	f.Add([]byte(parts([3]string{"f", "", "b"}, [3]string{"g", "x", "y"})), 1000, false)
	f.Fuzz(func(t *testing.T, data []byte, limit int, fail bool) {
		limit = int(uint(limit) % (64 << 10))
		var err error
		if fail {
			err = io.ErrUnexpectedEOF
		}
		checkPeek(t, data, limit, err, plainReader)

		got, gotErr := urlencodedValue(data, "f")
		want, wantErr := url.ParseQuery(string(data))
		if (gotErr == nil) != (wantErr == nil) || gotErr == nil && got != want.Get("f") {
			t.Fatalf("form %q: %q, %v; net/url has %q, %v", data, got, gotErr, want.Get("f"), wantErr)
		}

		got, gotErr = multipartValue(data, testBoundary, "f")
		form, wantErr := multipart.NewReader(bytes.NewReader(data), testBoundary).ReadForm(1 << 20)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("multipart %q: %v; mime/multipart has %v", data, gotErr, wantErr)
		}
		if gotErr == nil && got != first(form.Value["f"]) {
			t.Fatalf("multipart %q: %q; mime/multipart has %q", data, got, form.Value["f"])
		}
	})
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// encoding/json is the oracle: into a map for the value, into a struct for the
// way in which it matches names.
func FuzzJSONField(f *testing.F) {
	for _, s := range []string{`{"f":"b"}`, `{"F":1,"g":[{}]}`, `{"f":"a","\u0046":null}`, `[1]`, `{"f":-0.0e1}`, `{"f\ud800":"\ud800"}`, ` {"ſ" : true } `, `{"":{"f":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := jsonValue(data, "f")
		var doc map[string]json.RawMessage
		var any any
		if json.Unmarshal(data, &any) != nil {
			if !json.Valid(data) && err == nil {
				t.Fatalf("%q: broken, but %q", data, got)
			}
			return
		}
		if _, ok := any.(map[string]interface{}); !ok || json.Unmarshal(data, &doc) != nil {
			if got != "" || err != nil {
				t.Fatalf("%q: %q, %v for a document that is no object", data, got, err)
			}
			return
		}
		var raw json.RawMessage
		matches := 0
		for name, v := range doc {
			if strings.EqualFold(name, "f") {
				matches, raw = matches+1, v
			}
		}
		var s struct{ F *json.RawMessage }
		if json.Unmarshal(data, &s) == nil && (s.F != nil) != (matches > 0 && (matches > 1 || string(raw) != "null")) && matches < 2 {
			t.Fatalf("%q: encoding/json matches names in another way", data)
		}
		switch {
		case matches == 0:
			if got != "" || err != nil {
				t.Fatalf("%q: %q, %v without a field", data, got, err)
			}
		case matches > 1:
			if err == nil {
				t.Fatalf("%q: ambiguous, but %q", data, got)
			}
		case err == nil:
			checkJSONScalar(t, raw, got)
		}
	})
}

func checkJSONScalar(t *testing.T, raw json.RawMessage, got string) {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	switch v := v.(type) {
	case nil:
		if got != "" {
			t.Fatalf("%s: %q", raw, got)
		}
	case string:
		if got != v {
			t.Fatalf("%s: %q", raw, got)
		}
	case bool:
		if got != string(raw) {
			t.Fatalf("%s: %q", raw, got)
		}
	case float64:
		var back float64
		if json.Unmarshal([]byte(got), &back) != nil || back != v {
			t.Fatalf("%s: %q", raw, got)
		}
	default:
		t.Fatalf("%s: %q for an object or array", raw, got)
	}
}

func TestABodyThatWasReadBeforeIsBroken(t *testing.T) {
	for _, tc := range []struct {
		left   string
		length int64
		broken bool
	}{{"user=a", 6, false}, {"", 0, false}, {"", -1, false}, {"", 6, true}, {"=a", 6, false}} {
		head, body, err := PeekBody(io.NopCloser(strings.NewReader(tc.left)), tc.length, 10)
		rest, _ := io.ReadAll(body)
		if errors.Is(err, ErrBodyBroken) != tc.broken || string(rest) != tc.left || !tc.broken && string(head) != tc.left {
			t.Errorf("%q of %d bytes: head %q, error %v, then reads %q", tc.left, tc.length, head, err, rest)
		}
	}
	if _, _, err := PeekBody(nil, 3, 10); !errors.Is(err, ErrBodyBroken) {
		t.Errorf("no body of 3 bytes: error %v", err)
	}
}
