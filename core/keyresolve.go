package core

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Errors that refuse a request because it is not known whom to count it for.
// They never let it pass uncounted.
var (
	// ErrIdentity: the request has no usable identity: no client address where
	// one is needed, or a value of more than 8 KiB. 400.
	ErrIdentity = errors.New("no usable identity")
	// errMissing: the request lacks a value that the policy insists on. The
	// Limiter makes a refusal of it, with nothing charged (MissingRefuse).
	errMissing = errors.New("missing value")
)

// maxValue bounds a single value in a key, in bytes.
const maxValue = 8 << 10

// Missing says what becomes of a request that lacks the value a policy counts
// by: no such header field, no user, an empty parameter.
type Missing uint8

const (
	// MissingIP counts it for the client's address instead, apart from the
	// address as such and from other missing values.
	MissingIP Missing = iota
	// MissingShare counts all such requests together.
	MissingShare
	// MissingSkip does not apply the policy. So clients can avoid it at will:
	// never without another policy that they can not avoid.
	MissingSkip
	// MissingRefuse refuses the request, as a limit of 0 would.
	MissingRefuse
)

var missingTexts = [...]string{"ip", "share", "skip", "refuse"}

// String is ip, share, skip or refuse.
func (m Missing) String() string {
	if int(m) < len(missingTexts) {
		return missingTexts[m]
	}
	return fmt.Sprintf("Missing(%d)", uint8(m))
}

// MarshalText is String for the four values and an error for others.
func (m Missing) MarshalText() ([]byte, error) {
	if int(m) >= len(missingTexts) {
		return nil, fmt.Errorf("missing: there is no %v", m)
	}
	return []byte(m.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (m *Missing) UnmarshalText(text []byte) error {
	i := slices.Index(missingTexts[:], string(text))
	if i < 0 {
		return fmt.Errorf("missing: %q is not one of ip, share, skip, refuse", text)
	}
	*m = Missing(i)
	return nil
}

var (
	// errNoValue: the source has no value for this request.
	errNoValue = errors.New("no value")
	// errSkip: the identity is left out.
	errSkip = errors.New("skip")
)

// keys appends the identities that s gives to a request: one, or for Each one
// or more that are distinct. None at all means that the policy does not apply
// (MissingSkip). The keys refer to the request's memory.
func (s *source) keys(r *request, m Missing, dst []Key) ([]Key, error) {
	if s.op != opEach {
		var k Key
		var err error
		if s.op == opIP {
			k, err = s.addressPart(r) // the commonest one, straight
		} else {
			k, err = s.key(r, m)
		}
		switch err {
		case nil:
			return append(dst, k), nil
		case errSkip:
			return dst, nil
		}
		return dst, err
	}
	first := len(dst)
	for _, sub := range s.subs {
		k, err := sub.key(r, m)
		switch {
		case err == errSkip: // the others count, or leaving one out would evade them all
		case err != nil:
			return dst[:first], err
		case !slices.Contains(dst[first:], k): // named twice is charged once
			dst = append(dst, k)
		}
	}
	return dst, nil
}

// key is one identity. Each part of a Join that is missing is stood in for by
// itself, so the parts that are there still count.
func (s *source) key(r *request, m Missing) (Key, error) {
	if s.op != opJoin {
		return s.partOrStandIn(r, m)
	}
	var k Key
	for _, sub := range s.subs {
		p, err := sub.partOrStandIn(r, m)
		if err != nil {
			return Key{}, err
		}
		k = k.with(p)
	}
	return k, nil
}

func (s *source) partOrStandIn(r *request, m Missing) (Key, error) {
	k, err := s.part(r)
	if err != errNoValue {
		return k, err
	}
	switch m {
	case MissingIP:
		k, err := ipSource.part(r)
		if err == nil {
			k.head = s.absent
		}
		return k, err
	case MissingShare:
		return KeyOf(KindMissing, s.text, ""), nil
	case MissingSkip:
		return Key{}, errSkip
	}
	return Key{}, fmt.Errorf("%w: %s", errMissing, s.text)
}

// part is what the source itself says: errNoValue where it says nothing.
func (s *source) part(r *request) (Key, error) {
	switch s.op {
	case opValue:
		return s.valuePart(r)
	case opIP:
		return s.addressPart(r)
	case opRoute:
		return routePart(r), nil
	case opConst:
		return KeyOf(KindConst, "", s.name), nil
	case opFirst:
		for _, sub := range s.subs {
			if k, err := sub.part(r); err != errNoValue {
				return k, err
			}
		}
		return Key{}, errNoValue
	case opAs:
		k, err := s.subs[0].part(r)
		return rename(k, s.name), err
	}
	var k Key // a Join inside another source is missing when one of its parts is
	for _, sub := range s.subs {
		p, err := sub.part(r)
		if err != nil {
			return Key{}, err
		}
		k = k.with(p)
	}
	return k, nil
}

// addressPart is the client's address, cut.
func (s *source) addressPart(r *request) (k Key, err error) {
	err = s.addressKey(r.IP(), r.env, &k)
	return k, err
}

// addressKey is addressPart without a request: ip is normal, or invalid. The zero
// key is filled in place, which is quicker than returning one.
func (s *source) addressKey(ip netip.Addr, env *requestEnv, k *Key) error {
	if !ip.IsValid() {
		return errNoAddress
	}
	cut := s.cutOf(env)
	cut.key(ip, k)
	return nil
}

// cutOf is how the source cuts addresses.
func (s *source) cutOf(env *requestEnv) ipCut {
	if s.cut.v4 == 0 {
		return env.cut
	}
	return s.cut
}

var errNoAddress = fmt.Errorf("%w: the client's address is not known, as on a unix socket: set Config.Client", ErrIdentity)

// valuePart is a part with a text that came with the request.
func (s *source) valuePart(r *request) (Key, error) {
	value := s.get(r, s.name)
	if r.err != nil {
		return Key{}, r.err
	}
	if len(value) > maxValue {
		return Key{}, fmt.Errorf("%w: %s has %d bytes", ErrIdentity, s.text, len(value))
	}
	if s.fold {
		value = FoldText(value)
	}
	if value == "" {
		return Key{}, errNoValue
	}
	return KeyOf(s.kind, s.name, value), nil
}

// routePart is the method's class and the route's template.
func routePart(r *request) Key {
	route := r.Route()
	if route == "" {
		return KeyOf(KindRoute, "", "")
	}
	method := r.Method()
	switch method {
	case "HEAD":
		method = "GET"
	case "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		method = "*"
	}
	return KeyOf(KindRoute, method, route)
}

// rename makes a single text value a named one, and puts the name before
// anything else. A named value is never empty unless it is a constant.
func rename(k Key, name string) Key {
	if k.head == "" {
		switch k.kind {
		case KindHeader, KindQuery, KindForm, KindJSON, KindUser, KindConst, KindNamed:
			return KeyOf(KindNamed, name, k.value)
		case KindNone:
			return k
		}
	}
	return KeyOf(KindNamed, name, "").with(k)
}

// FoldText is the spelling that Fold counts by, for a KeyExtra that adds what
// people type: without it, every spelling of a name is an identity. It is lower
// case of upper case, because some letters have several lower-case forms.
func FoldText(s string) string { return strings.ToLower(strings.ToUpper(strings.TrimSpace(s))) }
