package memory_test

import (
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/backendtest"
)

func TestContract(t *testing.T) {
	backendtest.Run(t, func(*testing.T) core.Backend { return memory.New() })
}
