package httplimit

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// plain is a ResponseWriter that can nothing else.
type plain struct{ http.ResponseWriter }

// able can what net/http's of HTTP/1 and 2 can.
type able struct {
	plain
	flushed, pushed int
	broken          error
}

func (w *able) FlushError() error                            { w.flushed++; return w.broken }
func (w *able) Push(string, *http.PushOptions) error         { w.pushed++; return nil }
func (w *able) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, w.broken }

// What is recorded is what the client gets.
func TestTheRecordedStatus(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		hides   bool // the server's own ResponseWriter can only write
		want    int
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, false, 200},
		{"hints first", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(401) }, false, 401},
		{"twice", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); w.WriteHeader(200) }, false, 401},
		{"written", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x"); w.WriteHeader(401) }, false, 200},
		{"written empty", func(w http.ResponseWriter, _ *http.Request) { w.Write(nil); w.WriteHeader(401) }, false, 200},
		{"copied", func(w http.ResponseWriter, _ *http.Request) {
			io.Copy(w, strings.NewReader("x"))
			w.WriteHeader(401)
		}, false, 200},
		{"nothing to copy", func(w http.ResponseWriter, _ *http.Request) {
			io.Copy(w, iotest.ErrReader(broken))
			w.WriteHeader(401)
		}, false, 401},
		{"flushed", func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.WriteHeader(401) }, false, 200},
		{"not flushed", func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.WriteHeader(401) }, true, 401},
		{"not hijacked", func(w http.ResponseWriter, _ *http.Request) { w.(http.Hijacker).Hijack(); w.WriteHeader(401) }, true, 401},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var recorded *recorder
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.hides {
					w = plain{w}
				}
				recorded = &recorder{ResponseWriter: w}
				tc.handler(recorded, r)
			}))
			defer s.Close()
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.Start()
			r, err := http.Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != tc.want || recorded.sent() != tc.want {
				t.Errorf("recorded %d, sent %d, want %d", recorded.sent(), r.StatusCode, tc.want)
			}
		})
	}
}

// A connection that was taken over has switched protocols.
func TestTheStatusOfAConnectionTakenOver(t *testing.T) {
	w := &recorder{ResponseWriter: &able{}}
	if _, _, err := w.Hijack(); err != nil || w.sent() != 101 {
		t.Errorf("%d, %v", w.sent(), err)
	}
}

// The recorder takes nothing away, and an error is told to who asks.
func TestTheRecorderTakesNothingAway(t *testing.T) {
	broken := errors.New("broken")
	a := &able{broken: broken}
	w := &recorder{ResponseWriter: a}
	if err := http.NewResponseController(w).Flush(); err != broken || a.flushed != 1 {
		t.Errorf("Flush: %v, %d", err, a.flushed)
	}
	if err := http.NewResponseController(&recorder{ResponseWriter: plain{}}).Flush(); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("Flush that is not there: %v", err)
	}
	if err := http.Pusher(w).Push("/", nil); err != nil || a.pushed != 1 {
		t.Errorf("Push: %v, %d", err, a.pushed)
	}
	if err := (&recorder{ResponseWriter: plain{}}).Push("/", nil); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("Push that is not there: %v", err)
	}
}
