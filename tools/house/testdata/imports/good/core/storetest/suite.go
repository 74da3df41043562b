package storetest

import (
	_ "testing"

	_ "example.org/m/core"
)
