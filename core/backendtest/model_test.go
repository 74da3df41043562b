package backendtest

import (
	"testing"

	"github.com/stint-go/stint/core"
)

func TestModelKeepsTheContract(t *testing.T) {
	Run(t, func(t *testing.T) core.Backend { return new(Model) })
}
