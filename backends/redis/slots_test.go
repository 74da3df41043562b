package redislimit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// Where a cell is, and how slots move.

func slotOf(a core.Ask) uint64 {
	d := a.Cell.Digest()
	return clusterSlot([]byte(d.String()))
}

// serverOf is the server that an ask's cell is on, as the client knows it.
func serverOf(t *testing.T, b *Backend, a core.Ask) (server *redis.Client) {
	t.Helper()
	eventually(t, func() bool {
		if server = b.guards.find(nameOf(a)); server == nil {
			b.client.Ping(background()) // has a Cluster's client look for the nodes
		}
		return server != nil
	})
	return server
}

func ofCluster(t testing.TB, cl *servers.Cluster, timeout time.Duration, random bool) *Backend {
	t.Helper()
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cl.Addrs(), ContextTimeoutEnabled: true, RouteRandomly: random, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return must(t, c, Options{Timeout: timeout})
}

// ownerOf is the master that serves a slot, as one node that runs sees it.
func ownerOf(t testing.TB, cl *servers.Cluster, slot uint64) (*servers.Server, bool) {
	t.Helper()
	for _, witness := range cl.Nodes {
		if witness.Running() {
			return ownerSeenBy(t, witness, cl, slot)
		}
	}
	return nil, false
}

func ownerSeenBy(t testing.TB, witness *servers.Server, cl *servers.Cluster, slot uint64) (*servers.Server, bool) {
	t.Helper()
	for line := range strings.Lines(witness.Do("CLUSTER", "NODES")) {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.Contains(f[2], "master") || strings.Contains(f[2], "fail") {
			continue
		}
		for _, span := range f[8:] {
			low, high, isRange := strings.Cut(span, "-")
			from, err := strconv.ParseUint(low, 10, 64)
			to := from
			if isRange {
				to, _ = strconv.ParseUint(high, 10, 64)
			}
			if err != nil || slot < from || slot > to {
				continue
			}
			addr, _, _ := strings.Cut(f[1], "@")
			for _, n := range cl.Nodes {
				if n.Addr() == addr {
					return n, true
				}
			}
		}
	}
	return nil, false
}

// move takes a slot to another master, key by key, and returns that master.
func move(t *testing.T, cl *servers.Cluster, slot uint64) (to *servers.Server) {
	t.Helper()
	text := fmt.Sprint(slot)
	from := agreed(t, cl, slot, nil)
	for other := (slot + 1) % clusterSlots; to == nil || to == from; other = (other + 977) % clusterSlots {
		to, _ = ownerOf(t, cl, other)
	}
	to.Do("CLUSTER", "SETSLOT", text, "IMPORTING", from.Do("CLUSTER", "MYID"))
	from.Do("CLUSTER", "SETSLOT", text, "MIGRATING", to.Do("CLUSTER", "MYID"))
	for {
		keys := strings.Fields(from.Do("CLUSTER", "GETKEYSINSLOT", text, "1"))
		if len(keys) == 0 {
			break
		}
		from.Do("MIGRATE", "127.0.0.1", to.Port(), keys[0], "0", "5000")
	}
	assign(cl, slot, to)
	return agreed(t, cl, slot, to)
}

// assign tells all masters who has a slot, its new owner first.
func assign(cl *servers.Cluster, slot uint64, to *servers.Server) {
	id := to.Do("CLUSTER", "MYID")
	to.Do("CLUSTER", "SETSLOT", fmt.Sprint(slot), "NODE", id)
	for _, n := range cl.Nodes {
		if strings.Contains(n.Do("INFO", "replication"), "role:master") {
			n.Do("CLUSTER", "SETSLOT", fmt.Sprint(slot), "NODE", id)
		}
	}
}

// agreed is the master that all nodes take for the slot's, as soon as they do.
// Now and then a node believes an old message of another more than what it was
// told a moment ago: where they are to agree on one, they are told again.
func agreed(t *testing.T, cl *servers.Cluster, slot uint64, to *servers.Server) (owner *servers.Server) {
	t.Helper()
	soon := during(time.Second)
	eventually(t, func() bool {
		owner = nil
		for _, n := range cl.Nodes {
			now, ok := ownerSeenBy(t, n, cl, slot)
			if !ok || owner != nil && owner != now {
				if to != nil && !soon() {
					assign(cl, slot, to)
					soon = during(time.Second)
				}
				return false
			}
			owner = now
		}
		return true
	})
	return owner
}
