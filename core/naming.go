package core

// A Naming turns cells into names for stores outside the process.
type Naming struct {
	Secret []byte
}
