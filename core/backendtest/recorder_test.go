package backendtest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// A recorder is a test that may fail without failing the test it is part of.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	failed  bool
	skipped bool
	cleanup []func()
	log     string
}

// record runs f as a test of its own and returns what came of it.
func record(tb testing.TB, f func(testing.TB)) *recorder {
	r := &recorder{TB: tb}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				tb.Errorf("a panic is no failure that proves anything: %v", p)
			}
		}()
		f(r)
	}()
	<-done
	for _, f := range r.cleanup {
		f()
	}
	return r
}

func (r *recorder) note(failed bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.log += text + "\n"
}

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(f func())          { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Log(args ...any)           { r.note(false, fmt.Sprint(args...)) }
func (r *recorder) Logf(f string, a ...any)   { r.note(false, fmt.Sprintf(f, a...)) }
func (r *recorder) Error(args ...any)         { r.note(true, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.note(true, fmt.Sprintf(f, a...)) }
func (r *recorder) Fail()                     { r.note(true, "") }
func (r *recorder) FailNow()                  { r.Fail(); runtime.Goexit() }
func (r *recorder) Fatal(args ...any)         { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); runtime.Goexit() }
func (r *recorder) Failed() bool              { return r.failed }
func (r *recorder) Skip(args ...any)          { r.Log(args...); r.SkipNow() }
func (r *recorder) Skipf(f string, a ...any)  { r.Logf(f, a...); r.SkipNow() }
func (r *recorder) SkipNow()                  { r.skipped = true; runtime.Goexit() }
func (r *recorder) Skipped() bool             { return r.skipped }
