package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var (
	mdLink    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	mdLinkDef = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)`)
	htmlLink  = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	htmlID    = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	scheme    = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)`)
	heading   = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
)

// checkLinks follows every relative link of every page to its file, and to its
// heading where it names one. What lies outside the repository is nobody's to
// check here.
func checkLinks(t *tree) []finding {
	var out []finding
	for _, page := range t.withExt(".md") {
		_, prose := parsePage(t.files[page])
		for i, line := range prose {
			line = inlineCode.ReplaceAllString(line, "")
			var targets []string
			for _, re := range []*regexp.Regexp{mdLink, mdLinkDef, htmlLink} {
				for _, m := range re.FindAllStringSubmatch(line, -1) {
					targets = append(targets, m[1])
				}
			}
			for _, target := range targets {
				if msg := checkLink(t, page, target); msg != "" {
					out = append(out, finding{page, i + 1, msg})
				}
			}
		}
	}
	return out
}

func checkLink(t *tree, page, target string) string {
	if scheme.MatchString(target) {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	switch {
	case strings.HasPrefix(file, "/"):
		return fmt.Sprintf("link %s: write it relative to this page", target)
	case file == "":
		file = page
	default:
		file = path.Join(path.Dir(page), file)
	}
	if strings.HasPrefix(file, "..") {
		return fmt.Sprintf("link %s leaves the repository", target)
	}
	if !t.has(file) {
		return fmt.Sprintf("link %s: no file %s", target, file)
	}
	if anchor != "" && path.Ext(file) == ".md" && !anchors(t.files[file])[anchor] {
		return fmt.Sprintf("link %s: %s has no such heading", target, file)
	}
	return ""
}

// anchors are the fragments that a page answers to, spelled as GitHub does.
func anchors(text string) map[string]bool {
	ids := map[string]bool{}
	_, prose := parsePage(text)
	for _, line := range prose {
		for _, m := range htmlID.FindAllStringSubmatch(line, -1) {
			ids[m[1]] = true
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		id, n := slug(m[1]), 0
		for base := id; ids[id]; id = fmt.Sprintf("%s-%d", base, n) {
			n++
		}
		ids[id] = true
	}
	return ids
}

var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

func slug(title string) string {
	title = linkText.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
