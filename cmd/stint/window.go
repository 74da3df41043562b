package main

import (
	"strings"
	"time"

	"github.com/stint-go/stint/core"
)

// parseWindow reads a window as rates have it: 1m, 10s, 1d.
func parseWindow(text string) (time.Duration, error) {
	r, err := core.ParseRate("1/" + text)
	return r.Window, err
}

// windowText writes it.
func windowText(d time.Duration) string {
	return strings.TrimPrefix(core.Rate{Limit: 1, Window: d}.String(), "1/")
}

// intervalText writes it by itself, where 1 is not understood.
func intervalText(d time.Duration) string {
	text := windowText(d)
	if text[0] < '0' || text[0] > '9' {
		return "1" + text
	}
	return text
}
