package redislimit

import (
	"bytes"
	"encoding/base64"
	"errors"

	"github.com/stint-go/stint/core"
)

// explicitMark comes after the naming's prefix in the names of cells that are
// used with explicit instants, so that they never meet those of the server's
// clock and can be found and deleted: "rl:at:1:{...}:...".
const explicitMark = "at:"

// A target is an ask as the store sees it.
type target struct {
	*core.Ask
	step
	name       string
	slot       uint64
	programmed bool // the rule has a Program, and so its cell the form that its fragment says
}

var errInput = errors.New("redislimit: take and settle need as many verdicts, receipts and deltas as asks, " +
	"a rule and a space in each ask, and no cost below 0")

// targets finds out where asks go.
func (b *Backend) targets(asks []core.Ask, explicit bool) ([]target, error) {
	ts := make([]target, len(asks))
	for i := range asks {
		a, t := &asks[i], &ts[i]
		if a.Rule == nil || a.Cell.Space == nil || a.Cost < 0 {
			return nil, errInput
		}
		t.Ask = a
		var digest core.Digest
		t.name, digest = cellName(&a.Cell, explicit)
		t.slot = b.slot(digest)
		if p, ok := a.Rule.(core.Programmed); ok {
			t.Program, t.programmed = p.Program(), true
		}
		t.cost, t.phase, t.when, t.soft = a.Cost, a.Cell.Phase(digest.Hash()), a.When, a.Soft
		t.last = i == len(asks)-1 || asks[i+1].Group != a.Group
	}
	return ts, nil
}

func (b *Backend) slot(d core.Digest) uint64 {
	if b.slotOf == nil {
		return 0
	}
	var tag [22]byte
	base64.RawURLEncoding.Encode(tag[:], d[:])
	return b.slotOf(tag[:])
}

// cellName is the key in Redis.
func cellName(c *core.Cell, explicit bool) (string, core.Digest) {
	var buf [200 + len(explicitMark)]byte
	digest := c.Digest()
	name := c.Space.AppendName(buf[:0], digest)
	if explicit {
		// The version, "1:", stands between the prefix and the tag.
		at := max(0, bytes.IndexByte(name, '{')-len("1:"))
		name = append(name, explicitMark...)
		copy(name[at+len(explicitMark):], name[at:])
		copy(name[at:], explicitMark)
	}
	return string(name), digest
}
