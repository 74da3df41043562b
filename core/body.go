package core

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"strings"
)

// Errors of a body that a key depends on. They refuse the request, with the
// status named; a body that can not be judged never becomes an empty key.
var (
	// ErrBodyTooLarge: the body has more bytes than a key may depend on. 413.
	ErrBodyTooLarge = errors.New("body too large")
	// ErrBodyBroken: the body could not be read, or is not what its
	// Content-Type says, or names a field ambiguously. 400.
	ErrBodyBroken = errors.New("body broken")
	// ErrBodyEncoding: the body is compressed. 415.
	ErrBodyEncoding = errors.New("body has a content encoding")
)

// DefaultBodyLimit is the number of bytes of a body that a key may depend on.
const DefaultBodyLimit = 64 << 10

// PeekBody reads a body of at most limit bytes and returns it, with a body in
// its place that reads byte-identical from the start, ends or fails as the
// original did, and closes the original. head must not be changed. It serves
// the adapters of the net/http family; a nil body is an empty one.
//
// length is the request's Content-Length, -1 where it says none: a body of which
// nothing is left, because a handler has read it before, is broken, as it would
// pass for one without fields. (Of a chunked body nobody can tell.)
//
// A longer body is ErrBodyTooLarge, a failing one ErrBodyBroken wrapping the
// cause. head is nil then, restored is complete even so. Never more than
// limit+1 bytes are read ahead.
func PeekBody(body io.ReadCloser, length int64, limit int) (head []byte, restored io.ReadCloser, err error) {
	if body == nil {
		return nil, nil, drained(0, length)
	}
	limit = min(max(limit, 0), math.MaxInt-1)
	head, err = io.ReadAll(io.LimitReader(body, int64(limit)+1))
	p := &peekedBody{Closer: body, head: head, rest: body}
	if err != nil {
		p.rest = failingReader{err}
	}
	switch {
	case len(head) > limit:
		return nil, p, ErrBodyTooLarge
	case err != nil && err.Error() == "http: request body too large": // http.MaxBytesError
		return nil, p, fmt.Errorf("%w: %w", ErrBodyTooLarge, err)
	case err != nil:
		return nil, p, fmt.Errorf("%w: %w", ErrBodyBroken, err)
	}
	p.rest = failingReader{io.EOF}
	if err := drained(len(head), length); err != nil {
		return nil, p, err
	}
	return head, p, nil
}

func drained(left int, length int64) error {
	if left == 0 && length > 0 {
		return fmt.Errorf("%w: nothing of its %d bytes is left to read", ErrBodyBroken, length)
	}
	return nil
}

// A peekedBody reads what was read ahead, then the rest.
type peekedBody struct {
	io.Closer
	head []byte
	rest io.Reader
}

func (p *peekedBody) Read(b []byte) (int, error) {
	if len(p.head) == 0 {
		return p.rest.Read(b)
	}
	n := copy(b, p.head)
	p.head = p.head[n:]
	return n, nil
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// mediaType is what the request says about its body. Frameworks differ in what
// they make of a doubtful Content-Type: some would find a form where others see
// none. A doubtful one is broken, so that no client can hide a field that way.
func mediaType(n Native) (media, boundary string, err error) {
	for _, v := range n.HeaderValues("Content-Encoding") {
		if v = strings.TrimSpace(v); v != "" && !strings.EqualFold(v, "identity") {
			return "", "", ErrBodyEncoding
		}
	}
	lines := n.HeaderValues("Content-Type")
	if len(lines) > 1 {
		return "", "", fmt.Errorf("%w: several Content-Type fields", ErrBodyBroken)
	}
	if len(lines) == 0 || strings.TrimSpace(lines[0]) == "" {
		return "", "", nil
	}
	media, params, err := mime.ParseMediaType(lines[0])
	if err != nil {
		return "", "", fmt.Errorf("%w: Content-Type: %w", ErrBodyBroken, err)
	}
	for _, form := range [...]string{mediaURLEncoded, mediaMultipart} {
		if media != form && strings.HasPrefix(media, form) {
			return "", "", fmt.Errorf("%w: Content-Type is almost %s", ErrBodyBroken, form)
		}
	}
	if media == mediaMultipart && strings.Count(strings.ToLower(lines[0]), "boundary") > 1 {
		return "", "", fmt.Errorf("%w: Content-Type with several boundaries", ErrBodyBroken)
	}
	return media, params["boundary"], nil
}
