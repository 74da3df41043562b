// An audit log of denials in SQLite, the same in Gin, Echo and Fiber. README.md
// beside it says what to try.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/stint-go/stint/core"
)

func main() {
	c := config{public: "127.0.0.1:8080", admin: "127.0.0.1:8081", queue: 4096, now: time.Now, grace: 10 * time.Second}
	flag.StringVar(&c.framework, "framework", "gin", "gin, echo or fiber")
	flag.StringVar(&c.file, "db", "denials.db", "database file; made if it is missing")
	flag.Parse()
	if c.secret = []byte(os.Getenv("AUDIT_SECRET")); len(c.secret) == 0 {
		fmt.Println("AUDIT_SECRET is not set: identities of this run can not be compared with those of others")
		c.secret = []byte(rand.Text())
	}
	c.ready = func(public, admin string) {
		fmt.Printf("listening on http://%s; the denials are on http://%s\n", public, admin)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal ends it at once
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type config struct {
	framework, file, public, admin string
	secret                         []byte
	queue                          int
	now                            func() time.Time
	grace                          time.Duration // for requests and rows at the end
	ready                          func(public, admin string)
}

const keep = 1_000_000 // rows

// run serves until ctx is done. First the requests end, then the log is written:
// so no row is lost.
func run(ctx context.Context, c config) (err error) {
	naming, err := core.NewNaming(core.Naming{Secret: c.secret})
	if err != nil {
		return err
	}
	s, err := open(c.file, keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	log := NewLog(s.insert, c.queue)
	err = serve(ctx, c, log, page{log, s}, Audit{Log: log, Naming: naming, Now: c.now})
	end, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	return errors.Join(err, log.Close(end))
}

// serve serves the application and the page until ctx is done or one of them
// fails, and returns when the last request has ended.
func serve(ctx context.Context, c config, log *Log, p page, a Audit) error {
	l, err := newLimits(a)
	if err != nil {
		return err
	}
	app, err := newServer(c.framework, l)
	if err != nil {
		return err
	}
	public, err := net.Listen("tcp", c.public)
	if err != nil {
		return err
	}
	defer public.Close()
	admin, err := net.Listen("tcp", c.admin)
	if err != nil {
		return err
	}
	defer admin.Close()
	operator := onNetHTTP(p)
	failed := make(chan error, 2)
	go func() { failed <- app.Serve(public) }()
	go func() { failed <- operator.Serve(admin) }()
	c.ready(public.Addr().String(), admin.Addr().String())
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	end, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	return errors.Join(err, app.Shutdown(end), operator.Shutdown(end))
}
