package core

import (
	"errors"
	"fmt"
	"net/netip"
)

// A requestEnv is what all requests of a Limiter have in common.
type requestEnv struct {
	clientIP  func(Native) netip.Addr
	cut       ipCut                // what ByIP counts as one client; zero is 32 and 64 bits
	user      func(Request) string // nil: there are no users
	bodyLimit int                  // bytes; 0 is DefaultBodyLimit
}

// A request is the Request that a Limiter makes of a native one. It works
// things out when they are asked for, and once. It can be reset and used again.
type request struct {
	Native
	env *requestEnv
	// err is the first thing that went wrong while something was worked out.
	// The Limiter refuses the request with it, whatever was answered after.
	err error

	ip      netip.Addr
	name    string
	hasIP   bool
	hasUser bool
	hasBody bool

	body     []byte
	media    string
	boundary string
	fields   []bodyField
}

var _ Request = (*request)(nil)

// A bodyField is an answer that was given before.
type bodyField struct {
	json        bool
	name, value string
}

// reset makes r the request n. A nil n drops all references.
func (r *request) reset(n Native, env *requestEnv) {
	clear(r.fields)
	*r = request{Native: n, env: env, fields: r.fields[:0]}
}

func (r *request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *request) IP() netip.Addr {
	if !r.hasIP {
		r.hasIP = true
		r.ip = normalAddr(r.env.clientIP(r.Native))
	}
	return r.ip
}

func (r *request) User() string {
	if !r.hasUser {
		r.hasUser = true // first: the function may ask for the user itself
		if r.env.user != nil {
			r.name = r.env.user(r)
		}
	}
	return r.name
}

func (r *request) Form(name string) string {
	if !hasForm(r.Method()) {
		return ""
	}
	return r.field(bodyField{name: name}, r.formValue)
}

func (r *request) JSON(name string) string {
	return r.field(bodyField{json: true, name: name}, r.jsonValue)
}

// field answers from what was answered before, or by find.
func (r *request) field(f bodyField, find func(name string) (string, error)) string {
	if r.err != nil {
		return "" // the request is refused: no more work for it
	}
	for _, g := range r.fields {
		if g.json == f.json && g.name == f.name {
			return g.value
		}
	}
	value, err := find(f.name)
	if err != nil {
		r.fail(err)
		return ""
	}
	f.value = value
	r.fields = append(r.fields, f)
	return value
}

func (r *request) formValue(name string) (string, error) {
	if err := r.loadMedia(); err != nil {
		return "", err
	}
	if r.media != mediaURLEncoded && r.media != mediaMultipart {
		return "", nil
	}
	if err := r.loadBody(); err != nil || len(r.body) == 0 {
		return "", err
	}
	if r.media == mediaMultipart {
		return multipartValue(r.body, r.boundary, name)
	}
	return urlencodedValue(r.body, name)
}

func (r *request) jsonValue(name string) (string, error) {
	if err := r.loadMedia(); err != nil {
		return "", err
	}
	if err := r.loadBody(); err != nil || !looksJSON(r.media, r.body) {
		return "", err
	}
	return jsonValue(r.body, name)
}

func (r *request) loadMedia() (err error) {
	if !r.hasBody {
		r.media, r.boundary, err = mediaType(r.Native)
	}
	return err
}

func (r *request) loadBody() (err error) {
	if r.hasBody {
		return nil
	}
	limit := r.env.bodyLimit
	if limit <= 0 {
		limit = DefaultBodyLimit
	}
	r.body, err = r.Body(limit)
	if err != nil && !errors.Is(err, ErrBodyTooLarge) && !errors.Is(err, ErrBodyBroken) {
		err = fmt.Errorf("%w: %w", ErrBodyBroken, err)
	}
	r.hasBody = err == nil
	return err
}
