package redislimit

import (
	"context"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
)

// Products that differ by less than a float64 can tell are compared exactly.
func TestLuaComparesProductsExactly(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: shared.single().Addr()})
	defer c.Close()
	script := redis.NewScript(withFunctions(`
		local r = {}
		for i = 1, #ARGV, 4 do
			local a, b, c, d = tonumber(ARGV[i]), tonumber(ARGV[i+1]), tonumber(ARGV[i+2]), tonumber(ARGV[i+3])
			r[#r+1] = less(a, b, c, d) and 1 or 0
		end
		return r`))
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 40 {
		var args []any
		var want []int64
		for range 500 {
			a, b, x, d := near(rng)
			args = append(args, a, b, x, d)
			less := int64(0)
			if product(a, b).Cmp(product(x, d)) < 0 {
				less = 1
			}
			want = append(want, less)
		}
		got, err := script.Run(context.Background(), c, nil, args...).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%d*%d < %d*%d: Lua says %d", args[4*i], args[4*i+1], args[4*i+2], args[4*i+3], got[i])
			}
		}
	}
}

func product(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

// near returns two products of about the same size: a*b and x*d.
func near(rng *rand.Rand) (a, b, x, d int64) {
	a, d = rng.Int64N(1<<53>>rng.IntN(30))+1, rng.Int64N(1<<45)+1
	b = rng.Int64N(d) + 1
	x = new(big.Int).Div(product(a, b), big.NewInt(d)).Int64()
	// Equal products, and those one step apart.
	if g := new(big.Int).GCD(nil, nil, big.NewInt(a), big.NewInt(d)).Int64(); rng.IntN(3) == 0 && g > 1 {
		b = max(1, b*g/d) * (d / g)
		x = new(big.Int).Div(product(a, b), big.NewInt(d)).Int64()
	}
	x = min(max(0, x+rng.Int64N(3)-1), maxWord)
	return a, b, x, d
}

// What is sent to a server is bounded, whatever rates there are.
func TestScriptsAreBounded(t *testing.T) {
	b := &Backend{plans: planCache{most: maxPlans}}
	texts := map[string]bool{}
	for limit := range int64(3 * maxPlans) {
		s := []step{{Program: core.Program{Strategy: "gcra", Limit: limit + 1, Window: 1e6, Burst: 1}, cost: 1, last: true}}
		if own := b.plans.of(s, false); own != nil {
			texts[own.program.sha] = true
		}
	}
	if len(texts) != maxPlans {
		t.Errorf("%d scripts for %d rates, want %d", len(texts), 3*maxPlans, maxPlans)
	}
	if b.plans.of(make([]step, maxInlined+1), false) != nil {
		t.Error("a plan of many asks got a program of its own")
	}
}

// Every process has to make the same text, or servers would fill with scripts.
func TestProgramsAreReproducible(t *testing.T) {
	for i, explicit := range []bool{false, true} {
		for range 20 {
			if newGeneral(explicit).sha != general[i].sha || newSettling(explicit).sha != settling[i].sha {
				t.Fatal("two programs of one kind differ")
			}
		}
	}
}

// Fragments and functions hold to the rules of lua/functions.lua.
func TestAttack_D9(t *testing.T) {
	texts := []string{general[0].text, general[1].text, settling[0].text, settling[1].text, readCells[0].text, writeCells.text}
	for _, text := range texts {
		for _, word := range []string{"tostring", "$", "@", "--"} {
			if strings.Contains(strings.ReplaceAll(text, "$'", ""), word) {
				t.Errorf("a program contains %q:\n%s", word, text)
			}
		}
	}
}

// In the year 2100, with N-ths of a microsecond, Lua's numbers are still exact.
func TestAttack_D9Century(t *testing.T) {
	const century = 4_102_444_800_000_000
	b := on(t, shared.single())
	for i, c := range timelineCases(t) {
		l := newTimeline(t, b, c, rand.New(rand.NewPCG(2100, uint64(i))))
		l.now = century - 1
		if l.run(20); t.Failed() {
			t.Fatal(c.name, c.rate)
		}
	}
}
