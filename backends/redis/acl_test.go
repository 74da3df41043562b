package redislimit

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// The rights that README.md lists are enough for everything: none of them lets a
// script load, flush or configure, and so none of the holes that servers' Lua had.
func TestFault_G10(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rights := regexp.MustCompile("`(~rl:[^`]*)`,\nand what go-redis says on connecting \\(`([^`]*)`\\)").FindStringSubmatch(string(page))
	if rights == nil {
		t.Fatal("README.md lists no rights")
	}
	s := servers.Redis(t)
	s.Do(append([]string{"ACL", "SETUSER", "limiter", "on", ">secret"}, strings.Fields(rights[1]+" "+rights[2])...)...)
	b := over(t, &redis.Options{Addr: s.Addr(), Username: "limiter", Password: "secret"})
	for _, strategy := range five {
		for _, known := range []bool{true, false} {
			for _, at := range []int64{0, 1_700_000_000_000_000} {
				a := asking(t, strategy, 3, time.Second)
				if !known {
					a.Rule = stranger{a.Rule}
				}
				var receipts []core.Receipt
				for i, step := range []int64{0, 1, 400_000, 700_000, 400_000, 0} {
					if at > 0 {
						at += step
					}
					a.When = core.When(i % 3)
					v, err := take(b, at, a)
					if err != nil {
						t.Fatal(err)
					}
					receipts = append(receipts, v.Receipt)
				}
				for i, rc := range receipts {
					if err := b.Settle(background(), at, []core.Ask{a}, []core.Receipt{rc}, []int64{int64(i%2)*2 - 1}); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.Reset(background(), a.Cell); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// What clients send is data: no text of a key or a policy becomes part of a
// command or a script.
func TestFault_G10Injection(t *testing.T) {
	s := single(t)
	b := on(t, s)
	s.Do("SET", "canary", "alive", "EX", "600")
	rule, err := core.GCRA{}.Bind(core.Rate{Limit: 2, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace("test", time.Minute.Microseconds(), rule.Shape(), nil, nil)
	for _, text := range []string{
		`"]] redis.call('FLUSHALL') --`, "'] redis.call('FLUSHALL') --", "x\r\nFLUSHALL\r\n", "*1\r\n$8\r\nFLUSHALL\r\n", "canary", "{canary}", "$(FLUSHALL)", "\x00",
	} {
		a := core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", text)}, Rule: rule, Cost: 1}
		for i := range 3 {
			if v, err := take(b, 0, a); err != nil || v.OK != (i < 2) {
				t.Errorf("%q, decision %d: %+v, %v", text, i, v, err)
			}
		}
		if strings.Contains(s.Do("KEYS", "*"), "FLUSHALL") {
			t.Errorf("%q is in the name of a key", text)
		}
	}
	if got := s.Do("GET", "canary"); got != "alive" {
		t.Errorf("a key of somebody else's is %q", got)
	}
	if got := s.Do("DBSIZE"); got != "9" {
		t.Errorf("%s keys, want one per text and the canary", got)
	}
}
