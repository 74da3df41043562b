package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stint-go/stint/examples/internal/apptest"
)

func TestApp(t *testing.T) {
	apptest.RunServer(t, func(now func() time.Time, audit *slog.Logger) (apptest.Server, error) {
		app, err := newApp(now, audit)
		if err != nil {
			return nil, err
		}
		return app.Listener, nil
	})
}
