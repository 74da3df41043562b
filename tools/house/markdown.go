package main

import (
	"regexp"
	"strings"
)

// A fence is one fenced code block of a page.
type fence struct {
	lang    string
	line    int    // of the opening fence, from 1
	end     int    // of the closing fence
	text    string // between the fences, without the fence's own indentation
	indent  string
	comment string // the HTML comment on the last line before it that is not blank
}

var (
	fenceLine   = regexp.MustCompile("^( *)(```+|~~~+)\\s*([^`\\s]*)[^`]*$")
	commentLine = regexp.MustCompile(`^\s*<!--\s*(.*?)\s*-->\s*$`)
)

// parsePage splits a page into its fences and its prose: the lines of the page,
// those inside fences blank, so that line numbers stay.
func parsePage(text string) (fences []fence, prose []string) {
	var open *fence
	var mark string
	var body []string
	comment := ""
	for i, line := range strings.Split(text, "\n") {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case open != nil && m != nil && m[3] == "" && m[2][0] == mark[0] && len(m[2]) >= len(mark):
			open.text, open.end = strings.Join(body, "\n"), i+1
			fences = append(fences, *open)
			open, comment = nil, ""
		case open != nil:
			body = append(body, strings.TrimPrefix(line, open.indent))
		case m != nil:
			open = &fence{lang: strings.ToLower(m[3]), line: i + 1, indent: m[1], comment: comment}
			mark, body = m[2], nil
		default:
			if c := commentLine.FindStringSubmatch(line); c != nil {
				comment = c[1]
			} else if strings.TrimSpace(line) != "" {
				comment = ""
			}
			prose = append(prose, line)
			continue
		}
		prose = append(prose, "")
	}
	if open != nil { // not closed: the rest of the page is code, as every renderer has it
		open.text, open.end = strings.Join(body, "\n"), len(prose)+1
		fences = append(fences, *open)
	}
	return fences, prose
}

var inlineCode = regexp.MustCompile("`+[^`]+`+")
