package core

import "math"

// Forever is the wait, in microseconds, that no waiting ends: the cost can not
// be admitted by this rule, however long the client waits.
const Forever int64 = math.MaxInt64

// Limits of the arithmetic. Products of these fit 128 bits in Go and two limbs
// in Lua; sums of instants stay below 2^53, where a Lua number is still exact.
const (
	MaxLimit  int64 = 1 << 31           // units: the largest N, burst or cost that a rule admits
	MaxWindow int64 = 366 * 86400 * 1e6 // microseconds: the longest window
	MaxCount  int64 = 1 << 52           // units: where a counter stops growing (debt)
)

// A Strategy is a way to count. It is a small value with settings (precision,
// alignment, burst); Bind turns it and one rate into a Rule. A strategy of your
// own needs nothing but these two methods: see CONTRIBUTING.md.
type Strategy interface {
	// Name is the strategy's constant name, such as "gcra". Backends that run a
	// translation of the arithmetic (Lua) find it by this name.
	Name() string
	// Bind validates the rate for this strategy and makes every division once.
	// Its error names the setting and the remedy.
	Bind(Rate) (Rule, error)
}

// A Rule is a strategy bound to one rate: arithmetic on a small state of
// integers. It is immutable and safe for concurrent use; it has no clock, no
// lock and no I/O. Instants and durations are microseconds (instants since the
// Unix epoch, always > 0), amounts are units.
//
// The clock of a cell never goes back: where now lies before what the state
// has already seen, the rule goes on from the state's instant, and so it never
// admits what the largest now so far would have refused.
//
// Two rules with equal Shape and window read each other's states: raising a
// limit or a burst keeps what is consumed.
type Rule interface {
	// Shape names everything but limit and burst that gives the state its
	// meaning: strategy, precision, alignment. Constant, letters, digits and
	// "-" only, at most 32 bytes. One that ends in "-staggered" gets phases.
	Shape() string
	// Quota is what clients are told: the most units that can be admitted at
	// once, and the window they belong to. A cost above units is never admitted.
	Quota() (units, window int64)
	// Words is the size of the state; 0 means that it grows (MovingWindow).
	Words() int
	// Decide judges a request of that cost (>= 0) and changes nothing. Where it
	// is OK, Remaining, NextAfter and ResetAfter are those after a charge
	// of that cost; otherwise they are those of the cell as it stands. So
	// Decide with cost 0 is the way to look at a cell. Cost 0 is OK unless the
	// limit is 0 or the cell is in debt.
	Decide(s State, now, phase, cost int64) Judgement
	// Charge writes cost (>= 0) into s, in place where it has room, and
	// returns the state and the receipt. It is called for what Decide admitted
	// and also, under CountDenied, for what it refused: then it fills the cell
	// up and never beyond full, so that being refused often delays nobody
	// longer than being full does. Cost 0 changes nothing.
	Charge(s State, now, phase, cost int64) (State, Receipt)
	// Settle corrects an earlier charge: delta < 0 refunds that many units to
	// the charge that r names, delta > 0 adds debt at now, beyond full where it
	// must (r is not looked at). Refunding at the instant of the charge with
	// nothing between restores every later decision. Any other refund never
	// admits more than if the charge had never been: what time has already
	// given back, or what has left the state, is not given back again. A
	// receipt is settled at most once, with -delta <= its cost.
	Settle(s State, now, phase int64, r Receipt, delta int64) State
	// Until is the instant from which on s equals the empty state, for
	// decisions and for refunds; 0 for the empty state. Stores take it as
	// expiry, rounded up.
	Until(s State) int64
}

// A State is what a cell remembers. Rules with a fixed number of words always
// get a slice of exactly that length, all zero for a fresh cell; a rule that
// grows (Words 0) gets nil for a fresh cell. Only the rule gives the words a
// meaning, and every word stays within 0 and 2^53-1.
type State []int64

// A Receipt is what a rule needs to undo a charge; only that rule reads it. The
// zero Receipt says that nothing was charged, and settling it refunds nothing.
// A, B and C mean what the rule wants; stores that keep receipts keep all three.
type Receipt struct{ A, B, C int64 }

// A Judgement is what a rule thinks of a cost. Durations are microseconds from
// now.
type Judgement struct {
	OK bool // the cost is admitted
	// Remaining is the largest cost that would be admitted right now, 0 at least.
	Remaining int64
	// RetryAfter of a refusal is a promise: wait exactly that long, ask again
	// for the same cost, and with no other traffic it is admitted; one
	// microsecond earlier it is not. Forever: no waiting helps. 0 where OK.
	RetryAfter int64
	// NextAfter is the wait until more than Remaining is admitted; 0 when the
	// whole quota is available, Forever when that never happens (limit 0).
	NextAfter int64
	// ResetAfter is the wait until every decision equals that of an empty cell.
	ResetAfter int64
}

// Figures are the judgement's.
func (j *Judgement) Figures() Figures {
	return Figures{j.Remaining, j.RetryAfter, j.NextAfter, j.ResetAfter}
}

// A Verdict is what became of one ask: the judgement of its cell as it is after
// the step, and what was charged.
type Verdict struct {
	Judgement
	// Charged tells that the ask's cost was written to its cell.
	Charged bool
	Receipt Receipt
	// Err tells that this ask could not be decided; OK is false then.
	Err error
}

// When says in which case an ask is charged. For a hard ask, admitted and
// refused mean the whole decision; for a soft one, its own verdict.
type When uint8

const (
	OnAdmit  When = iota // charged when admitted: the normal case
	OnRefuse             // charged when refused: strikes that lead to a ban
	Always               // charged either way: CountDenied
	Never                // never charged: a look (peek), a shadow
)
