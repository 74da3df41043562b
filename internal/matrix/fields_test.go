package matrix

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

// checkFields reads the fields of an answer with a parser that is not ours.
func checkFields(tb testing.TB, h http.Header) {
	tb.Helper()
	for name, param := range map[string]string{"Ratelimit-Policy": "q", "Ratelimit": "r"} {
		lines := h[name]
		if len(lines) == 0 {
			continue
		}
		list, err := httpsfv.UnmarshalList(lines)
		if err != nil || len(lines) != 1 {
			tb.Errorf("%s: %q: %v", name, lines, err)
			continue
		}
		for _, member := range list {
			item, ok := member.(httpsfv.Item)
			if !ok {
				tb.Errorf("%s: %q has a member that is no item", name, lines)
				continue
			}
			policy, isText := item.Value.(string)
			if v, found := item.Params.Get(param); !isText || policy == "" || !found || v.(int64) < 0 {
				tb.Errorf("%s: %q: item %v", name, lines, item)
			}
			for _, p := range item.Params.Names() {
				v, _ := item.Params.Get(p)
				if unit, isUnit := v.(string); p == "qu" && isUnit && unit == "concurrent-requests" {
					continue
				}
				if n, isNumber := v.(int64); !strings.Contains("qwrt", p) || !isNumber || n < 0 {
					tb.Errorf("%s: %q: parameter %s", name, lines, p)
				}
			}
		}
	}
	if retry := h["Retry-After"]; len(retry) > 0 {
		n, err := httpsfv.UnmarshalItem(retry)
		if err != nil || len(retry) != 1 || n.Value.(int64) < 1 {
			tb.Errorf("Retry-After: %q", retry)
		}
	}
}
