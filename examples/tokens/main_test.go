package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-go/stint/examples/internal/webtest"
)

// An app is the application with a model that says what the test gives it.
type app struct {
	*webtest.App
	answers sync.Map // the tokens of each, by its prompt
}

func start(t *testing.T) *app {
	a := new(app)
	m := func(ctx context.Context, prompt string) iter.Seq[string] {
		tokens, _ := a.answers.Load(prompt)
		return func(yield func(string) bool) {
			for {
				select {
				case <-ctx.Done():
					return
				case token, more := <-tokens.(chan string):
					if !more || !yield(token) {
						return
					}
				}
			}
		}
	}
	a.App = webtest.Start(t, func(now func() time.Time) (http.Handler, error) { return newApp(m, now) })
	return a
}

// An answer is under way: tokens come out of its body, until the client leaves or
// the channel is closed.
type answer struct {
	*http.Response
	tokens chan string
	leave  func()
}

// ask begins an answer of at most so many tokens, the first of which it gets.
func (a *app) ask(most string) (got answer) {
	a.Helper()
	prompt := rand.Text()
	got.tokens = make(chan string)
	a.answers.Store(prompt, got.tokens)
	ctx, leave := context.WithTimeout(a.Context(), 20*time.Second)
	got.leave = leave
	req, err := http.NewRequestWithContext(ctx, "POST", a.URL+"/answers?max="+most, strings.NewReader("prompt="+prompt))
	if err != nil {
		a.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "ann")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	begun := make(chan error, 1)
	go func() {
		var err error
		got.Response, err = http.DefaultClient.Do(req)
		begun <- err
	}()
	select {
	case got.tokens <- "first": // the header comes with it
		err = <-begun
	case err = <-begun: // refused
	}
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { leave(); got.Body.Close() })
	return got
}

func (a *app) left() string {
	a.Helper()
	return a.Want(1, 200, webtest.Request{Path: "/left", Header: map[string]string{"X-Api-Key": "ann"}}).Body
}

// settled waits until the server has noticed the end of an answer.
func (a *app) settled(want string) {
	a.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for a.left() != want+" tokens left\n" {
		if time.Now().After(deadline) {
			a.Fatalf("%s, not %s", a.left(), want)
		}
	}
}

func TestACompleteAnswerCostsWhatItHas(t *testing.T) {
	a := start(t)
	resp := a.ask("300")
	a.settled("700") // the estimate, while it runs
	resp.tokens <- "second"
	close(resp.tokens)
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "first second " {
		t.Errorf("%q, %v", body, err)
	}
	a.settled("998")
}

func TestAClientThatLeavesHalfWayPaysForTheHalf(t *testing.T) {
	a := start(t)
	resp := a.ask("300")
	for range 9 {
		resp.tokens <- "word"
	}
	words := bufio.NewScanner(resp.Body)
	words.Split(bufio.ScanWords)
	for range 10 {
		words.Scan()
	}
	resp.leave()
	a.settled("990")
}

func TestAnAnswerEndsAtItsMost(t *testing.T) {
	a := start(t)
	resp := a.ask("3")
	resp.tokens <- "second"
	resp.tokens <- "third"
	a.settled("997")
}

// The estimates of those who ask at once do not fit together, and their answers
// are as many as may run.
func TestWhoAsksAtOnce(t *testing.T) {
	a := start(t)
	gone := a.ask("400")
	a.ask("400")
	a.settled("200")
	resp := a.ask("400")
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 429 || !strings.Contains(string(body), `"tokens"`) || !strings.Contains(string(body), `"answers"`) {
		t.Errorf("%s %s, %v", resp.Status, body, err)
	}
	a.settled("200") // what is refused costs nothing
	gone.leave()
	a.settled("599")
	if resp := a.ask("400"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

func TestNobodyWithoutAKey(t *testing.T) {
	a := start(t)
	a.Want(1, 429, webtest.Request{Path: "/answers", Form: url.Values{"prompt": {"hello"}}})
}

func TestTheEstimateIsKeptWithinBounds(t *testing.T) {
	for text, want := range map[string]int64{"": 400, "7": 7, "0": 1, "-5": 1, "401": 400, "99999999999999999999": 400, "x": 400} {
		if got := atMost(text); got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}
