package main

import (
	"testing"

	"github.com/stint-go/stint/examples/internal/apptest"
)

func TestApp(t *testing.T) { apptest.Run(t, newApp) }
