package core

import "errors"

// A Class is what kind of thing went wrong: for logs and metrics, and for the
// Limiter, which lets a policy's OnFailure decide where the store is to blame and
// refuses everywhere else. ClassOf finds the class of an error.
type Class uint8

const (
	// ClassNone: nothing went wrong.
	ClassNone Class = iota

	// The store could not be asked, or did not answer as it should: OnFailure
	// decides. All of these are ErrUnavailable too.

	ClassUnavailable // no connection, or it broke
	ClassTimeout     // no answer in time
	ClassPool        // no free connection in time: nothing was sent
	ClassOpen        // not asked at all, because it has failed before (a circuit breaker is open)
	ClassBusy        // it is occupied and does nothing else
	ClassOOM         // it is out of memory
	ClassReadOnly    // it takes no writes now: a replica, loading, incomplete
	ClassContention  // others were faster, again and again
	ClassClosed      // the client, or the backend, was closed

	// Somebody else is to blame: waiting mends nothing, and an open door would be
	// an invitation. The request is refused whatever OnFailure says.

	ClassConfig   // the store refuses this client: password, permissions, commands
	ClassProtocol // ErrProtocol: something foreign at a key, or as a reply
	ClassIdentity // ErrIdentity: nobody knows whom to count
	ClassBody     // ErrBodyTooLarge, ErrBodyBroken, ErrBodyEncoding
	ClassHook     // a hook or function of the application misbehaved
	ClassUnknown  // an error of no class
)

var classNames = [...]string{"none", "unavailable", "timeout", "pool", "open", "busy", "oom", "readonly", "contention", "closed",
	"config", "protocol", "identity", "body", "hook", "unknown"}

// String is the class as one lower-case word, such as "timeout".
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[ClassUnknown]
}

// ClassOf is the class of err, and ClassNone of nil. An error has a class of its
// own where it, or one that it wraps, has a method Class() Class, as those that
// NewUnavailable makes.
func ClassOf(err error) Class {
	var own interface {
		error
		Class() Class
	}
	var late interface {
		error
		Timeout() bool
	}
	switch {
	case err == nil:
		return ClassNone
	case errors.Is(err, ErrProtocol):
		return ClassProtocol
	case errors.Is(err, ErrBodyTooLarge), errors.Is(err, ErrBodyBroken), errors.Is(err, ErrBodyEncoding):
		return ClassBody
	case errors.Is(err, ErrIdentity):
		return ClassIdentity
	case errors.Is(err, errHook):
		return ClassHook
	case errors.As(err, &own):
		return own.Class()
	case !errors.Is(err, ErrUnavailable):
		return ClassUnknown
	case errors.As(err, &late) && late.Timeout():
		return ClassTimeout
	}
	return ClassUnavailable
}

// isDown reports whether err says that the store is down, so that a policy's
// OnFailure decides. Nothing that a client sends can bring such an error about.
func isDown(err error) bool {
	c := ClassOf(err)
	return errors.Is(err, ErrUnavailable) && c >= ClassUnavailable && c <= ClassClosed
}

// NewUnavailable returns an error that is ErrUnavailable and of a class, for
// backends to keep as a sentinel and to wrap.
func NewUnavailable(class Class, text string) error { return &unavailable{class, text} }

type unavailable struct {
	class Class
	text  string
}

func (e *unavailable) Error() string { return e.text }
func (e *unavailable) Class() Class  { return e.class }
func (e *unavailable) Unwrap() error { return ErrUnavailable }
