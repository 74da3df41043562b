// Package lib is documented.
package lib

import "context"

// A Kind is one of these.
type Kind int

// The kinds.
const (
	One Kind = iota
	Two
)

const (
	Three Kind = 3 // by its own comment
	// Four has one too.
	Four Kind = 4
	five Kind = 5
)

// A Thing has a Size.
type Thing struct {
	Size  int
	Kind  Kind
	Width int // and Height, both in dots
	Height,
	hidden int
}

// Size and Kind are parts of the thing.
func (t *Thing) GetSize() int { return t.Size }
func (t *Thing) hide()        {}

// Reader and Writer do what they say.
func Reader() {}
func Writer() {}

// A Doer does.
type Doer interface {
	Do(string) error
}

// A Native answers lazily.
type Native interface {
	Context() context.Context
	// Path is the path.
	Path() string
}

type private struct{ Exported int }

func (private) Exports() {}

type generic[T any] struct{ t T }

func (generic[T]) Exports() {}
