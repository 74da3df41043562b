package lib

const One = 1

var Two = 2

type Three struct {
	Four int
}

func (Three) Five() {}

// Six is documented.
func Six()   {}
func Seven() {}

// Eight and Nine are documented.
func Eight() {}

func Nine() {}

// Ten is documented, its methods aren't.
type Ten interface {
	Eleven()
	Twelve(int)
}

// Generic is documented.
type Generic[T any] struct{}

func (g *Generic[T]) Method() {}
