package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// site is a small log of a site: visitors who load pages with their images, and
// one who takes everything. It is the log of the pictures, too.
func site() string {
	r := rand.New(rand.NewPCG(2026, 5))
	type request struct {
		second int
		line   string
	}
	var all []request
	add := func(ip string, second int, path string) {
		all = append(all, request{second, fmt.Sprintf("%s - - [18/May/2026:%02d:%02d:%02d +0000] \"GET %s HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0\"\n",
			ip, 8+second/3600, second/60%60, second%60, path)})
	}
	for visitor := range 240 {
		second := r.IntN(7200)
		for range 1 + int(r.ExpFloat64()*2) { // pages
			for image := range 1 + int(r.ExpFloat64()*5) {
				if second < 7200 {
					add(fmt.Sprintf("192.0.2.%d", 1+visitor), second, fmt.Sprintf("/articles/%d/image-%d.png", visitor%9, image))
				}
				second += r.IntN(2)
			}
			second += 5 + int(r.ExpFloat64()*60)
		}
	}
	for second := 2700; second < 4500; second++ {
		if r.IntN(5) > second/300%3 {
			add("203.0.113.66", second, fmt.Sprintf("/articles/%d", second))
		}
	}
	slices.SortStableFunc(all, func(a, b request) int { return a.second - b.second })
	var b strings.Builder
	for _, q := range all {
		b.WriteString(q.line)
	}
	return b.String()
}

// What advise proposes is a policy file, and replay confirms what it promises.
func TestAdviceIsTrue(t *testing.T) {
	code, out, errs := stint(t, site(), "advise", "--refuse", "0", "--strategy", "moving-window", "--name", "pages")
	if code != fine {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if !strings.Contains(out, "Who stands out in 10m:\n  203.0.113.66 ") {
		t.Errorf("the one who takes everything does not stand out:\n%s", out)
	}
	_, file, _ := strings.Cut(out, "policy file:\n\n")
	path := t.TempDir() + "/advice.yaml"
	write(t, path, file)
	if code, out, errs := stint(t, "", "check", path); code != fine {
		t.Errorf("what is to be pasted is wrong: %s%s\n%s", out, errs, file)
	}
	code, out, errs = stint(t, site(), "replay", "--policies", path, "--summary", "json")
	var s struct {
		RefusedKeys int64 `json:"refused_keys"`
		Lanes       []struct{ Top []struct{ Key string } }
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != fine {
		t.Fatal(err, errs)
	}
	if s.RefusedKeys != 1 || s.Lanes[0].Top[0].Key != "203.0.113.66" {
		t.Errorf("replay refuses %+v, want the one who stands out and nobody else", s)
	}
}

func TestAdviseAnswersWrongUse(t *testing.T) {
	for args, says := range map[string]string{
		"--refuse 2":          "write a share",
		"--refuse x%":         "write a share",
		"--window 1x":         "unknown unit",
		"--strategy leaky":    "unknown strategy",
		"--ignore k --key ip": "nobody asked",
		"--key func:x":        "no text form",
	} {
		code, _, errs := stint(t, `{"at_ms":0,"key":"k"}`, append([]string{"advise"}, strings.Fields(args)...)...)
		if code != wrong || !strings.Contains(errs, says) {
			t.Errorf("advise %s: exit code %d, %s; want 2 and %q", args, code, errs, says)
		}
	}
}
