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

// The rights that README.md lists are enough for everything.
func TestDocumentedRightsAreEnough(t *testing.T) {
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
