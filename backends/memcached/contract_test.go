package memcachedlimit

import (
	"testing"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/backendtest"
)

func contract(t *testing.T, b *Backend) {
	t.Helper()
	backendtest.Options{Provisional: true, Slow: !long()}.Run(t, func(*testing.T) core.Backend { return b })
}

func TestContractOnOneServer(t *testing.T) { contract(t, on(t, shared.single())) }

func TestContractOnThreeServers(t *testing.T) { contract(t, on(t, shared.three()...)) }
