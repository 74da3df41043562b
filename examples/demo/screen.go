package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A screen is where the demo shows itself. On a terminal the lanes are drawn
// over and over; elsewhere, in a file or a pipe, they are written once, at the
// end, and progress is a line now and then.
type screen struct {
	io.Writer
	redraw, colour bool
	columns        int // of a lane
	drawn          int // lines to go up before drawing again
}

func newScreen(w io.Writer) *screen {
	s := &screen{Writer: w, columns: 60}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return s
	}
	s.redraw, s.colour = true, os.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.columns = min(max(width-42, 10), 60) // the rest of a line is 41 wide
	}
	return s
}

const (
	passMark   = "●"
	refuseMark = "×"
	green      = "\x1b[32m"
	red        = "\x1b[31m"
	plain      = "\x1b[0m"
)

func (s *screen) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return colour + text + plain
}

// draw writes a lane per client, over those drawn before.
func (s *screen) draw(lanes []*lane, begin time.Time, length time.Duration) {
	var b strings.Builder
	if s.redraw && s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dF", s.drawn)
	}
	for _, l := range lanes {
		t := l.tally(nil)
		fmt.Fprintf(&b, "  %-9s%s %4d let through%4d refused\n", l.name, s.lane(t.marks, begin, length), t.passed, t.refused)
	}
	s.drawn = len(lanes)
	io.WriteString(s, b.String())
}

// lane shows time from left to right. Where a column saw several answers, it
// shows that somebody was let through.
func (s *screen) lane(marks []mark, begin time.Time, length time.Duration) string {
	cells := make([]string, s.columns)
	for i := range cells {
		cells[i] = "·"
	}
	for _, m := range marks {
		i := min(int(m.at.Sub(begin)*time.Duration(s.columns)/length), s.columns-1)
		if m.passed {
			cells[i] = s.paint(green, passMark)
		} else if cells[i] == "·" {
			cells[i] = s.paint(red, refuseMark)
		}
	}
	return strings.Join(cells, "")
}

// legend says how to read the lanes.
func (s *screen) legend(length time.Duration) string {
	return fmt.Sprintf("%s let through   %s refused   one column is %v",
		s.paint(green, passMark), s.paint(red, refuseMark), (length / time.Duration(s.columns)).Round(time.Millisecond))
}

// progress is what is shown on the way where nothing can be drawn.
func (s *screen) progress(lanes []*lane, since time.Duration) {
	passed, refused := 0, 0
	for _, l := range lanes {
		t := l.tally(nil)
		passed, refused = passed+t.passed, refused+t.refused
	}
	fmt.Fprintf(s, "  after %2.0f s: %d let through, %d refused\n", since.Seconds(), passed, refused)
}
