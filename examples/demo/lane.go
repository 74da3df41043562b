package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A lane is a client at work, and what has become of its requests.
type lane struct {
	client
	target target

	mu   sync.Mutex
	seen tally
}

// A target is where requests go.
type target struct {
	url string
	// byHeader has clients name themselves in X-Api-Key, where this system has
	// one loopback address for all of them.
	byHeader bool
}

// A tally is what a client saw.
type tally struct {
	marks           []mark // one per answer
	passed, refused int
	inVain          int       // refusals after waiting as long as Retry-After said
	begun, ended    time.Time // before the first request, after the last answer
	refusal         string    // the first one, as it came
	err             error     // what broke
}

type mark struct {
	at     time.Time
	passed bool
}

func (t tally) sent() int { return t.passed + t.refused }

// run sends requests until ctx is done. One that is in flight then is waited
// for: it is charged either way.
func (l *lane) run(ctx context.Context) {
	hc := &http.Client{Transport: l.transport(), Timeout: 10 * time.Second}
	defer hc.CloseIdleConnections()
	l.tally(func(t *tally) { t.begun = time.Now() })
	var wait time.Duration // what the last answer told a patient client
	for i := 0; ctx.Err() == nil; i++ {
		resp, err := hc.Do(l.newRequest(i))
		if err == nil {
			err = l.record(resp, wait > 0)
		}
		if err != nil {
			l.tally(func(t *tally) { t.err = err })
			return
		}
		wait = 0
		if l.patient {
			s, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			wait = time.Duration(s) * time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(wait, l.pace)):
		}
	}
}

func (l *lane) transport() *http.Transport {
	var d net.Dialer
	if !l.target.byHeader {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(l.addr)}
	}
	return &http.Transport{DialContext: d.DialContext}
}

func (l *lane) newRequest(i int) *http.Request {
	method, path, username := l.request(i)
	body := ""
	if username != "" {
		body = url.Values{"username": {username}, "password": {"123456"}}.Encode()
	}
	r, err := http.NewRequest(method, l.target.url+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the cast is written down in this program
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if l.target.byHeader {
		r.Header.Set("X-Api-Key", l.addr)
	}
	return r
}

// record adds an answer to the tally.
func (l *lane) record(resp *http.Response, waited bool) error {
	text, err := httputil.DumpResponse(resp, true)
	resp.Body.Close()
	if err != nil {
		return err
	}
	passed := resp.StatusCode == http.StatusOK
	if !passed && resp.StatusCode != http.StatusTooManyRequests {
		return fmt.Errorf("%s was answered with %s", resp.Request.URL.Path, resp.Status)
	}
	l.tally(func(t *tally) {
		t.ended = time.Now()
		t.marks = append(t.marks, mark{t.ended, passed})
		if passed {
			t.passed++
			return
		}
		t.refused++
		if waited {
			t.inVain++
		}
		if t.refusal == "" {
			t.refusal = string(text)
		}
	})
	return nil
}

// tally has f read or change the tally, and answers a copy.
func (l *lane) tally(f func(*tally)) tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f != nil {
		f(&l.seen)
	}
	return l.seen
}
