package main

import (
	"mime"
	"strconv"
	"strings"
)

// prefersHTML reports whether a client accepts HTML more gladly than JSON, by its
// Accept fields (RFC 9110, section 12.5.1). Who has no preference gets JSON: it
// is no browser.
func prefersHTML(accept []string) bool {
	return quality(accept, "text/html") > max(quality(accept, "application/json"), quality(accept, "application/problem+json"))
}

// quality is how welcome a media type is, from 0 to 1: what the most specific
// range that matches it says.
func quality(accept []string, media string) (q float64) {
	class, _, _ := strings.Cut(media, "/")
	best := 0
	for _, field := range accept {
		for item := range strings.SplitSeq(field, ",") {
			name, params, err := mime.ParseMediaType(item)
			rank := 0
			switch name {
			case media:
				rank = 3
			case class + "/*":
				rank = 2
			case "*/*":
				rank = 1
			}
			if err == nil && rank > best {
				best, q = rank, weight(params["q"])
			}
		}
	}
	return q
}

func weight(s string) float64 {
	if s == "" {
		return 1
	}
	q, err := strconv.ParseFloat(s, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
