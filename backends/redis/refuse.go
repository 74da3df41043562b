package redislimit

import (
	"hash/maphash"

	"github.com/stint-go/stint/core"
)

var _ core.Refuser = (*Backend)(nil)

// Seeds implements core.Refuser; nil where the deny cache is off.
func (b *Backend) Seeds() *[2]maphash.Seed { return b.denied.Seeds() }

// RefuseOne implements core.Refuser, from the deny cache.
func (b *Backend) RefuseOne(space *core.Space, rule core.Rule, key core.Print, cost int64) (core.Outcome, bool) {
	return b.denied.RefuseOne(space, rule, key, cost)
}

// Refuse implements core.Refuser, from the deny cache.
func (b *Backend) Refuse(asks []core.Ask) (which int, o core.Outcome) { return b.denied.Refuse(asks) }
