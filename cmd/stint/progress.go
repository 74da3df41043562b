package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A progress is a line on a terminal that says how far a long run is. Elsewhere,
// and in the first two seconds, it says nothing.
type progress struct {
	w           io.Writer // nil where nobody looks
	size        int64     // bytes; 0 where that is not known
	begin, next time.Time
	shown       bool
}

const (
	quietFor = 2 * time.Second
	barEvery = time.Second / 5
	barWidth = 30
)

func newProgress(w io.Writer, size int64) *progress {
	p := &progress{size: size, begin: time.Now()}
	p.next = p.begin.Add(quietFor)
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.w = w
	}
	return p
}

// show is replay.Run's Progress.
func (p *progress) show(bytes, entries int64) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next, p.shown = time.Now().Add(barEvery), true
	fmt.Fprint(p.w, "\r\x1b[K", barLine(bytes, p.size, entries, time.Since(p.begin)))
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// barLine is the line: how far, how fast, how long still.
func barLine(bytes, size, entries int64, took time.Duration) string {
	rate := fmt.Sprintf("%s requests, %s a second", grouped(entries), grouped(int64(float64(entries)/took.Seconds())))
	if size <= 0 || bytes <= 0 {
		return rate
	}
	part := min(float64(bytes)/float64(size), 1)
	full := int(part * barWidth)
	left := time.Duration(float64(took) * (1 - part) / part).Round(time.Second)
	return fmt.Sprintf("%s%s %3.0f %%  %s, %v left", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), part*100, rate, left)
}

// grouped is a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
