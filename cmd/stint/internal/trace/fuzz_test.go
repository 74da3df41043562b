package trace

import (
	"encoding/json"
	"testing"
)

// The scanner takes what encoding/json takes and nothing else, and reads the same.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{ownLine, caddyLine, nginxLine, envoyLine, `{"a":"\u00e9\ud83d\ude00","a":[1,-0.5e+7,{"b":null}],"c":true}`, `{"a":01}`, `{"a" "b"}`, `{"\n":"` + "\t" + `"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := scanner{text: text}
		got := map[string]string{}
		err := s.object(func(name string) error {
			if s.peek() == '"' {
				value, err := s.str()
				got[name] = value
				return err
			}
			delete(got, name)
			return s.skip()
		})
		if err == nil {
			err = s.end()
		}
		var want map[string]any
		if jsonErr := json.Unmarshal([]byte(text), &want); (err == nil) != (jsonErr == nil && want != nil) {
			if err != nil && depth(want) >= maxDepth { // deeper than any log
				return
			}
			t.Fatalf("%q: the scanner says %v, encoding/json %v", text, err, jsonErr)
		}
		if err != nil || !json.Valid([]byte(text)) {
			return
		}
		for name, value := range want {
			if text, ok := value.(string); ok && isPlain(name) && isPlain(text) && got[name] != text {
				t.Errorf("%q: %q is %q, want %q", text, name, got[name], text)
			}
		}
	})
}

// isPlain reports a text that came without broken UTF-8, which encoding/json
// replaces.
func isPlain(s string) bool {
	for _, r := range s {
		if r == '\uFFFD' {
			return false
		}
	}
	return true
}

func depth(v any) (deepest int) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e)+1)
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e)+1)
		}
	}
	return deepest
}

// Whatever a log has in it, lines are read or refused, and what is read can be asked
// about.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{ownLine, combinedLine, caddyLine, nginxLine, envoyLine} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, form := range formats {
			var e Entry
			if form.parse(text, &e) != nil {
				continue
			}
			if e.At < 0 || e.At > Latest || e.Cost < 0 || len(e.Keys) > MaxKeys {
				t.Errorf("%s: %q is %+v", name, text, e)
			}
			_, _, _, _ = e.Path(), e.Route(), e.Query("q"), e.Header("X")
			if _, err := e.Body(1 << 16); err != nil && len(text) < 1<<14 {
				t.Errorf("%s: %q: %v", name, text, err)
			}
		}
	})
}
