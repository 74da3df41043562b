package main

// memoryBugs: of stores inside the process.
var memoryBugs = []mutant{
	{
		name: "denied-is-charged", from: "envoy, ulule, express, fiber", what: "refused requests are counted, and lock clients out",
		file: "backends/memory/seat.go", old: "	case core.OnAdmit:\n		return admitted\n", new: "	case core.OnAdmit:\n		return true\n",
		pkg: "internal/matrix", run: "^TestAttack_D12$",
	}, {
		name: "check-then-act", from: "GET, compare, INCR", what: "the lock is let go between judging and charging",
		file: "backends/memory/admit.go", old: "	step = core.Admit(rule, r[headWords:], now, phase, cost)\n", new: "	before := append(core.State(nil), r[headWords:]...)\n	s.mu.Unlock()\n	for range 1000 {\n	}\n	s.mu.Lock()\n	step = core.Admit(rule, before, now, phase, cost)\n	copy(r[headWords:], before)\n",
		pkg: "backends/memory", run: "^TestContentionOfTheShortWay$", short: true,
	}, {
		name: "several-limits-one-by-one", from: "loops over limits", what: "the last limit decides for all",
		file: "backends/memory/take.go", old: "		admitted = admitted && (out[i].OK || asks[i].Soft)\n", new: "		admitted = out[i].OK || asks[i].Soft\n",
		pkg: "backends/memory", run: "^TestContract$",
	}, {
		name: "flood-evicts-victim", from: "gubernator, throttled", what: "a flood of new keys pushes out the counter of who is at the limit",
		file: "backends/memory/evict.go", old: "		if flags&atLimit != 0 && !force {\n", new: "		if false {\n",
		pkg: "backends/memory", run: "^TestFault_G1$",
	}, {
		name: "no-cap", from: "ulule, echo, httprate, fiber", what: "the store grows with every new key",
		file: "backends/memory/room.go", old: "	if s.shared.cells.Add(1) > s.shared.maxCells {\n", new: "	if s.shared.cells.Add(1) > 1<<40 {\n",
		pkg: "backends/memory", run: "^TestFault_G1$",
	}, {
		name: "newcomers-are-free", from: "stores that give up when they are full", what: "where nobody can be evicted, newcomers are not limited",
		file: "backends/memory/overflow.go", old: "	c.state, c.until = state, until\n", new: "	c.until = until\n",
		pkg: "backends/memory", run: "^TestOverflow$",
	}, {
		name: "sweeper-takes-the-living", from: "ulule", what: "the sweeper deletes a counter that somebody still uses",
		file: "backends/memory/clock.go", old: "	return uint32(min(max(until-c.wall, 0)>>tickBits+1, maxTick))\n", new: "	return uint32(min(max(until-c.wall, 0)>>tickBits+1, 1))\n",
		pkg: "backends/memory", run: "^Test",
	}, {
		name: "short-hash-is-the-key", from: "httprate", what: "identities with equal bits of a hash share a counter",
		file: "backends/memory/shard.go", old: "uint64(r[0]) == p.body && uint32(r[1]>>32) == p.side", new: "r[0] != 0",
		pkg: "internal/matrix", run: "^TestAttack_E7$",
	}, {
		name: "negative-cost-refills", from: "throttled, gubernator, upstash", what: "a cost below 0 gives units",
		file: "backends/memory/takeone.go", old: "	case cost < 0:\n		return o, f, errCost\n", new: "",
		pkg: "backends/memory", run: "^TestBadInput$",
	}, {
		name: "goroutine-per-store", from: "fiber, rate", what: "every store starts a goroutine that never ends",
		file: "backends/memory/backend.go", old: "	b.shared.clock = newClock()\n", new: "	b.shared.clock = newClock()\n	go func() { select {} }()\n",
		pkg: "backends/memory", run: "^TestFault_G4$",
	},
}
