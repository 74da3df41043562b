package core_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/core"
)

// An outage is logged when it begins and when it is over, per policy, and once a
// minute in between, however many requests there are, and although some policies'
// servers answer all the while.
func TestOutagesAreLoggedByTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newFaulty()
		l := configured(t, core.Config{Backend: b, Logger: slog.New(slog.NewTextHandler(&log, nil)), Policies: []core.Policy{
			ten("near", core.FailClosed), ten("far", core.FailOpen)}})
		lines := func(words ...string) (n int) {
			for line := range strings.Lines(log.String()) {
				has := true
				for _, w := range words {
					has = has && strings.Contains(line, w)
				}
				if has {
					n++
				}
			}
			return n
		}
		during := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				visit(l, get("192.0.2.1"))
				visit(l, get("192.0.2.2"))
			}
		}
		during(time.Minute)
		if log.Len() > 0 {
			t.Fatalf("logged without an outage: %s", log.String())
		}
		b.errs["far"] = core.NewUnavailable(core.ClassPool, "no connection")
		during(150 * time.Second)
		begun := lines("level=WARN", `msg="backend down: policy degraded"`, "policy=far", "on_failure=open", "class=pool", `err="no connection"`)
		still := lines("level=WARN", `msg="backend down: policy still degraded"`, "policy=far", "failures=")
		if begun != 1 || still != 2 || lines("") != 3 {
			t.Errorf("in 150 seconds:\n%s", log.String())
		}
		log.Reset()
		delete(b.errs, "far")
		during(5 * time.Second)
		b.errs["far"] = core.ErrUnavailable // it was not over yet
		during(5 * time.Second)
		delete(b.errs, "far")
		during(time.Minute)
		if lines("level=WARN", `msg="backend back: policy no longer degraded"`, "policy=far", "failures=310", "for=2m39s") != 1 || lines("") != 1 {
			t.Errorf("when it was over:\n%s", log.String())
		}
		log.Reset()
		b.errs["far"] = core.ErrUnavailable
		during(time.Second)
		if lines("policy degraded", "policy=far") != 1 || lines("") != 1 {
			t.Errorf("the next one:\n%s", log.String())
		}
	})
}

// Errors that are not the store's are no outage: they are logged as errors, once a
// minute per class, and without whom they concern.
func TestOtherErrorsAreNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newFaulty()
		b.errs["api"] = fmt.Errorf("a list: %w", core.ErrProtocol)
		l := configured(t, core.Config{Backend: b, Logger: slog.New(slog.NewTextHandler(&log, nil)), Policies: []core.Policy{ten("api", core.FailOpen)}})
		for range 90 {
			visit(l, get("192.0.2.1"))
			time.Sleep(time.Second)
		}
		if text := log.String(); strings.Count(text, "\n") != 2 || strings.Count(text, "level=ERROR") != 2 || !strings.Contains(text, "class=protocol") ||
			!strings.Contains(text, "policy api") || strings.Contains(text, "192.0.2") {
			t.Errorf("in 90 seconds:\n%s", text)
		}
	})
}
