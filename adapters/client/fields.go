package clientlimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// asked is how long a response asks its client to wait, 0 for not at all.
// Retry-After takes precedence over RateLimit.
func asked(r *http.Response, now time.Time) time.Duration {
	if r.Header.Get("Age") != "" { // from a cache: it was said to somebody else
		return 0
	}
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable {
		if d, ok := retryAfter(r.Header.Get("Retry-After"), now); ok {
			return d
		}
	}
	return rateLimit(r.Header.Values("RateLimit"))
}

// retryAfter reads a number of seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(text string, now time.Time) (d time.Duration, ok bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// rateLimit is the longest wait of the items that have nothing left.
func rateLimit(lines []string) (longest time.Duration) {
	if len(lines) == 0 {
		return 0
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return 0
	}
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if _, named := item.Value.(string); !ok || !named {
			continue
		}
		left, known := parameter(item, "r")
		wait, told := parameter(item, "t")
		if known && told && left == 0 && wait > 0 && wait < 1<<31 {
			longest = max(longest, time.Duration(wait)*time.Second)
		}
	}
	return longest
}

func parameter(item httpsfv.Item, name string) (n int64, ok bool) {
	v, found := item.Params.Get(name)
	n, ok = v.(int64)
	return n, found && ok
}
