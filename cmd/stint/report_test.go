package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// browser is the path of a Chromium.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium: install it with apt-get install -y chromium, or sh scripts/servers.sh")
	return ""
}

// inBrowser is the page as it stands after a script has run on it. It fails the
// test where the page complained.
func inBrowser(t *testing.T, page, script string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tried := filepath.Join(dir, "tried.html")
	write(t, tried, strings.Replace(string(text), "</body>", "<script>"+script+"</script></body>", 1))
	cmd := exec.CommandContext(t.Context(), browser(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--enable-logging=stderr", "--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+tried)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page complains: %s", line)
		}
	}
	return string(out)
}

// A browser shows what replay says, at every limit that the slider has.
func TestReportInABrowser(t *testing.T) {
	dir := t.TempDir()
	log, page := filepath.Join(dir, "access.log"), filepath.Join(dir, "report.html")
	write(t, log, site())
	code, out, errs := stint(t, "", "replay", "--rate", "30/m", "--strategy", "sliding-window,gcra", "--report", page, "--summary", "json", log)
	if code != fine {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var s struct {
		Lanes []struct{ Refused int64 }
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	dom := inBrowser(t, page, "")
	for i, l := range s.Lanes {
		if want := fmt.Sprintf("%d refused", l.Refused); l.Refused == 0 || !strings.Contains(strings.ReplaceAll(dom, ",", ""), want) {
			t.Errorf("lane %d: no %q on the page", i, want)
		}
	}
	for _, want := range []string{"203.0.113.66", "access.log", "2026-05-18 08:00:21", "30/m  (as asked)", "<rect", "requests per key"} {
		if !strings.Contains(dom, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	// What the slider shows for another limit is what replay says of it.
	dom = inBrowser(t, page, `{
		const slider = document.getElementById("limit"), shown = [];
		for (let at = 0; at <= slider.max; at++) {
			slider.value = at;
			slider.dispatchEvent(new Event("input"));
			shown.push([...document.querySelectorAll(".lane")].map(l => l.querySelector("h2").textContent + ": " + l.querySelector("b").textContent.replace(/,/g, "")));
		}
		document.body.innerHTML = "<pre>" + JSON.stringify(shown) + "</pre>";
	}`)
	var shown [][]string
	_, text, _ := strings.Cut(dom, "<pre>")
	text, _, _ = strings.Cut(text, "</pre>")
	if err := json.Unmarshal([]byte(text), &shown); err != nil || len(shown) != len(factors) {
		t.Fatalf("%v: %s", err, dom)
	}
	for i, f := range factors {
		rate := fmt.Sprintf("%d/m", int64(30*f+0.5))
		_, out, _ := stint(t, "", "replay", "--rate", rate, "--strategy", "sliding-window,gcra", "--summary", "json", log)
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatal(err)
		}
		for lane, name := range []string{"sliding-window", "gcra"} {
			if want := fmt.Sprintf("%s: %s: %d refused", name, rate, s.Lanes[lane].Refused); shown[i][lane] != want {
				t.Errorf("the slider shows %q, replay says %q", shown[i][lane], want)
			}
		}
	}
}

func TestReportNeedsNothingElse(t *testing.T) {
	page := filepath.Join(t.TempDir(), "report.html")
	trace := `{"at_ms":0,"key":"</script><b>bold"}
{"at_ms":1,"key":"</script><b>bold"}
{"at_ms":2,"key":"bob"}
`
	for _, hash := range []bool{false, true} {
		code, _, errs := stint(t, trace, "replay", "--rate", "1/m", "--report", page, fmt.Sprintf("--hash-keys=%v", hash))
		if code != fine {
			t.Fatal(errs)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if links := regexp.MustCompile(`(src|href)=|url\(|@import|fetch\(|https?://[^w]`).FindAllString(string(text), -1); links != nil {
			t.Errorf("the page refers to something else: %q", links)
		}
		if n := strings.Count(string(text), "</script>"); n != 1 {
			t.Errorf("a key has ended the script: %d ends", n)
		}
		dom := inBrowser(t, page, "")
		if clear := strings.Contains(dom, "<td>bob</td>") && strings.Contains(dom, "<td>&lt;/script&gt;&lt;b&gt;bold</td>"); clear == hash {
			t.Errorf("hashed %v, keys in clear %v", hash, clear)
		}
	}
	if code, _, errs := stint(t, trace, "replay", "--rate", "1/m", "--report", filepath.Join(page, "x", "y.html")); code != wrong || errs == "" {
		t.Errorf("a report where none can be: exit code %d", code)
	}
}

// Strategies that can not have a larger limit have a page all the same.
func TestReportOfALargestLimit(t *testing.T) {
	page := filepath.Join(t.TempDir(), "report.html")
	code, _, errs := stint(t, small, "replay", "--rate", "9000/m", "--strategy", "moving-window", "--report", page)
	if code != fine {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
