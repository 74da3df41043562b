package memory

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/stint-go/stint/core"
)

// The caps of New, and of the zero Options.
const (
	DefaultMaxCells = 1_000_000
	DefaultMaxBytes = 256 << 20
)

const (
	mostCells  = 1 << 28
	leastBytes = 1 << 20
)

// Options are the hard caps of a Backend. A cell of a fixed number of state
// words costs about 31 bytes (GCRA with a whole interval, such as 100/h) and 8
// more per further word in use; MovingWindow costs 16 bytes per remembered
// stamp. Whichever cap is reached first holds.
type Options struct {
	// MaxCells is the most cells that are kept, 1 to 1<<28; 0 is
	// DefaultMaxCells.
	MaxCells int
	// MaxBytes is the most memory that is held, at least 1 MiB; 0 is
	// DefaultMaxBytes. Overflow cells come on top: at most 64 of them.
	MaxBytes int
}

// A Backend keeps cells in memory. Make it with New or NewWith; it is safe for
// concurrent use, and letting go of it is all that it takes to free it.
type Backend struct {
	shards []shard
	shift  int // the shard is the first half of the key's fingerprint >> shift
	seeds  [2]maphash.Seed
	shared shared
}

// shared is what the shards of a Backend have in common.
type shared struct {
	clock    clock
	pool     pool
	overflow overflow
	maxCells int64
	_        [64]byte // what follows changes with every new cell

	cells      atomic.Int64
	evicted    atomic.Int64
	overflowed atomic.Int64
}

var (
	_ core.Backend  = (*Backend)(nil)
	_ core.Admitter = (*Backend)(nil)
)

// New returns a Backend with the default caps.
func New() *Backend {
	b, err := NewWith(Options{})
	if err != nil {
		panic(err) // the defaults are right
	}
	return b
}

// NewWith returns a Backend with caps of your own. Its error names every option
// that is out of range.
func NewWith(o Options) (*Backend, error) {
	if o.MaxCells == 0 {
		o.MaxCells = DefaultMaxCells
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	var errs []error
	if o.MaxCells < 1 || o.MaxCells > mostCells {
		errs = append(errs, fmt.Errorf("memory: MaxCells %d: want 1 to %d", o.MaxCells, mostCells))
	}
	if o.MaxBytes < leastBytes {
		errs = append(errs, fmt.Errorf("memory: MaxBytes %d: want at least %d (1 MiB)", o.MaxBytes, leastBytes))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	n := shardCount(o)
	b := &Backend{
		shards: make([]shard, n),
		shift:  64 - bits.TrailingZeros(uint(n)),
		seeds:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
	b.shared.clock = newClock()
	b.shared.maxCells = int64(o.MaxCells)
	b.shared.pool.max = int64(o.MaxBytes)
	b.shared.pool.bytes.Store(int64(n) * int64(unsafe.Sizeof(shard{})))
	for i := range b.shards {
		s := &b.shards[i]
		s.shared, s.soonest, s.passed = &b.shared, never, never
	}
	return b, nil
}

// shardCount is a power of two: so many that a shard holds some 4000 cells,
// which bounds what growing its index costs, and never so many that a shard
// could be empty, with nobody to evict, while the Backend is full.
func shardCount(o Options) int {
	want := max(o.MaxCells/4096, 64)
	want = max(1, min(want, o.MaxCells/64, o.MaxBytes>>16))
	return 1 << bits.Len(uint(want-1))
}

// Stats are figures for metrics, each exact at some instant of the call.
type Stats struct {
	Cells      int64 // cells held, expired ones that are not yet reclaimed included
	Bytes      int64 // memory held, free room for cells to come included
	Evicted    int64 // cells that lost their state to a newcomer before it expired
	Overflowed int64 // decisions on an overflow cell
}

// Stats returns the figures of the Backend. It takes no lock.
func (b *Backend) Stats() Stats {
	return Stats{
		Cells:      b.shared.cells.Load(),
		Bytes:      b.shared.pool.bytes.Load() + b.shared.overflow.bytes.Load(),
		Evicted:    b.shared.evicted.Load(),
		Overflowed: b.shared.overflowed.Load(),
	}
}

// Reset implements core.Backend. What a cell charged to an overflow cell stays
// there, as it is not the cell's alone.
func (b *Backend) Reset(ctx context.Context, cells ...core.Cell) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range cells {
		if err := checkCell(&cells[i]); err != nil {
			return err
		}
	}
	for i := range cells {
		var own, explicit place
		b.locate(&cells[i], false, &own)
		b.locate(&cells[i], true, &explicit)
		s := &b.shards[own.shard]
		s.mu.Lock()
		s.forget(&own)
		s.forget(&explicit)
		s.mu.Unlock()
	}
	return nil
}

var (
	errCost  = errors.New("memory: negative cost")
	errRule  = errors.New("memory: ask without a rule")
	errSpace = errors.New("memory: cell without a space, or its window is not positive")
	errAt    = errors.New("memory: negative instant")
	errAsks  = errors.New("memory: no asks")
	errLen   = errors.New("memory: slices of different lengths")
)

func check(a *core.Ask) error {
	if a.Rule == nil {
		return errRule
	}
	if a.Cost < 0 {
		return errCost
	}
	return checkCell(&a.Cell)
}

func checkCell(c *core.Cell) error {
	if c.Space == nil || c.Space.Window() <= 0 {
		return errSpace
	}
	return nil
}
