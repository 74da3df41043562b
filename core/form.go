package core

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"strings"
)

const (
	mediaURLEncoded = "application/x-www-form-urlencoded"
	mediaMultipart  = "multipart/form-data"
	// maxParts bounds the work that one multipart body makes, as net/http does.
	maxParts = 1000
)

// hasForm reports whether requests of that method have a form: those for which
// net/http looks for one. With any other, a handler would take the field from
// elsewhere than we do, and the client could choose a key at will.
func hasForm(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }

// urlencodedValue is the first value of a field, by the rules of
// url.ParseQuery. The whole body is judged, so that the verdict does not depend
// on the field.
func urlencodedValue(body []byte, name string) (value string, err error) {
	found := false
	for pair := range strings.SplitSeq(string(body), "&") {
		if strings.IndexByte(pair, ';') >= 0 {
			return "", fmt.Errorf("%w: form: semicolon", ErrBodyBroken)
		}
		k, v, _ := strings.Cut(pair, "=")
		k, kerr := url.QueryUnescape(k)
		v, verr := url.QueryUnescape(v)
		if kerr != nil || verr != nil {
			return "", fmt.Errorf("%w: form: percent encoding", ErrBodyBroken)
		}
		if !found && k == name && pair != "" {
			value, found = v, true
		}
	}
	return value, nil
}

// multipartValue is the first value of a field among the parts that are no
// files. All parts are looked at, for the same reason.
func multipartValue(body []byte, boundary, name string) (value string, err error) {
	if boundary == "" {
		return "", fmt.Errorf("%w: multipart: no boundary", ErrBodyBroken)
	}
	found := false
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for n := 0; ; n++ {
		p, err := r.NextPart()
		if err == io.EOF { // itself: a truncated body wraps it
			return value, nil
		}
		if err != nil {
			return "", fmt.Errorf("%w: multipart: %w", ErrBodyBroken, err)
		}
		if n == maxParts {
			return "", fmt.Errorf("%w: multipart: more than %d parts", ErrBodyTooLarge, maxParts)
		}
		if found || p.FormName() != name || p.FileName() != "" {
			continue
		}
		v, err := io.ReadAll(p)
		if err != nil {
			return "", fmt.Errorf("%w: multipart: %w", ErrBodyBroken, err)
		}
		value, found = string(v), true
	}
}
