// Memcached is the demo of the class of 2009, page for page: a limited view, a
// view of the live counters, and a login form that is limited by address and user
// name.
//
//	go run ./examples/memcached -h
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE) // the last: | head
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "memcached:", err)
		os.Exit(1)
	}
}

const usage = `An application whose limits are counters in memcached.

  go run ./examples/memcached                               with a memcached of its own
  go run ./examples/memcached -memcached 127.0.0.1:11211    with one that runs

  /page    20 requests in 3 minutes for each address
  /login   10 attempts in 3 minutes for each address and user name
  /debug   the counters, as they are now

The application is examples/memcached/app.go. The memcached that this starts listens
on a free port of 127.0.0.1 and ends with the program.

`

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("memcached", flag.ContinueOnError)
	flags.SetOutput(out)
	server := flags.String("memcached", "", "`address` of a memcached that runs, such as 127.0.0.1:11211")
	addr := flags.String("addr", "127.0.0.1:8080", "`address` to listen on")
	flags.Usage = func() { io.WriteString(out, usage); flags.PrintDefaults() }
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return errors.New("usage: memcached [-memcached ADDRESS] [-addr ADDRESS]; -h says more")
	}
	if *server == "" {
		s, err := startMemcached()
		if err != nil {
			return err
		}
		defer s.stop()
		*server = s.addr
		fmt.Fprintf(out, "started memcached on %s\n", s.addr)
	}
	if err := reach(ctx, *server); err != nil {
		return err
	}
	app, err := newApp(*server)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s: try /page, /login and /debug\n", l.Addr())
	s := &http.Server{Handler: app, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { s.Close() })()
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
