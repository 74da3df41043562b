package core

import (
	"net/textproto"
	"slices"
	"strconv"
)

// WriteHeader writes the header fields of the response into h, an http.Header in
// all but name, for adapters of frameworks that have one. Without a ContentType
// none is sent, nor one that net/http finds by looking into the body.
func (r *Response) WriteHeader(h map[string][]string) {
	for name, lines := range r.Header {
		h[textproto.CanonicalMIMEHeaderKey(name)] = slices.Clone(lines)
	}
	lines := []string{r.ContentType, lengthText(len(r.Body))}
	h["Content-Type"], h["Content-Length"] = lines[0:1:1], lines[1:2:2]
	if r.ContentType == "" {
		h["Content-Type"] = nil
	}
}

// lengthText is n in decimal, without an allocation for the lengths of most
// bodies.
func lengthText(n int) string {
	if n < 100 || n > 999 { // below 100 strconv does the same
		return strconv.Itoa(n)
	}
	i := 3 * (n - 100)
	return threeDigits[i : i+3]
}

// threeDigits are the numbers from 100 to 999.
var threeDigits = func() string {
	b := make([]byte, 0, 3*900)
	for n := range 900 {
		b = strconv.AppendInt(b, int64(n+100), 10)
	}
	return string(b)
}()
