package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// flood: five million new addresses against the embedded backend with its default
// caps, and a victim that was at its limit before.
func flood(tb servers.TB) {
	const addresses = 5_000_000
	b := memory.New()
	l, err := core.New(core.Config{Backend: b, Policies: []core.Policy{{Name: "api", Rate: "100/h"}}})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	allow := func(k core.Key, cost int64) bool {
		d, err := l.Allow(context.Background(), "api", k, cost)
		if err != nil {
			tb.Fatalf("%v", err)
		}
		return d.Allowed
	}
	victim := core.KeyOf(core.KindUser, "", "victim")
	if !allow(victim, 100) {
		tb.Fatalf("the victim was refused too early")
	}
	debug.FreeOSMemory()
	before := resident(tb)
	for i := range uint32(addresses) {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], i)
		allow(core.KeyOfPrefix(netip.PrefixFrom(netip.AddrFrom4(a), 32)), 1)
	}
	grown := resident(tb) - before
	free := 0
	if allow(victim, 1) {
		free = 1
	}
	print("flood-memory", grown>>20, "MiB")
	print("flood-bytes-per-cell", b.Stats().Bytes/b.Stats().Cells, "B")
	print("flood-freed-victims", free, "victims")
}

// resident is what the process holds in memory, by the system's own account.
func resident(tb servers.TB) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Fatalf("this figure needs Linux: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	tb.Fatalf("/proc/self/status has no VmRSS")
	return 0
}
