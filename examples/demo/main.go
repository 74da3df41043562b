// Demo starts a Gin application with a few limits, sends it real requests from
// several clients, and shows who is let through and who is refused. Its status
// is 1 where the limits did not do what they promise.
//
//	go run ./examples/demo -h
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
	"sync"
	"syscall"
	"time"

	"github.com/stint-go/stint/core"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

const usage = `Watch a Gin application limit real HTTP requests.

  go run ./examples/demo             for six seconds
  go run ./examples/demo -for 20s    for longer
  go run ./examples/demo -serve      and then keep the application running, to try it with curl

The application is examples/demo/app.go: that is all it takes. It listens on a
free port of 127.0.0.1 and counts in memory. NO_COLOR=1 turns colours off.

`

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(out)
	length := flags.Duration("for", 6*time.Second, "`how long` clients send requests")
	serve := flags.Bool("serve", false, "keep the application running afterwards")
	flags.Usage = func() { io.WriteString(out, usage); flags.PrintDefaults() }
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *length < time.Second {
		return errors.New("usage: demo [-for 6s] [-serve], one second at least; -h says more")
	}
	byHeader, client := !severalAddresses(), core.ByIP
	if byHeader {
		client = core.ByHeader("X-Api-Key")
	}
	app, err := newApp(client)
	if err != nil {
		return err
	}
	return perform(ctx, newScreen(out), app, byHeader, *length, *serve)
}

// perform serves the application, shows the clients at work, and judges.
func perform(ctx context.Context, s *screen, app http.Handler, byHeader bool, length time.Duration, serve bool) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: app, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(l)
	defer server.Close()

	to := target{"http://" + l.Addr().String(), byHeader}
	var lanes []*lane
	for _, c := range cast() {
		lanes = append(lanes, &lane{client: c, target: to})
	}
	s.introduce(lanes, to)
	play(ctx, s, lanes, length)
	if ctx.Err() == nil {
		s.results(lanes)
		err = judge(lanes)
		if serve {
			s.invite(to)
			<-ctx.Done()
		} else if err == nil {
			fmt.Fprint(s, next)
		}
	}
	if ctx.Err() != nil {
		fmt.Fprintln(s, "\nstopped")
	}
	return err
}

// severalAddresses reports whether this system has all of 127.0.0.0/8, as Linux
// and Windows do, or 127.0.0.1 alone, as macOS does.
func severalAddresses() bool {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// play has the clients send requests for that long, and shows them.
func play(ctx context.Context, s *screen, lanes []*lane, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	fmt.Fprintf(s, "  %s\n\n", s.legend(length))
	begin := time.Now()
	var clients sync.WaitGroup
	for _, l := range lanes {
		clients.Go(func() { l.run(ctx) })
	}
	every, show := time.Second, func() { s.progress(lanes, time.Since(begin)) }
	if s.redraw {
		every, show = time.Second/20, func() { s.draw(lanes, begin, length) }
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			show()
		}
	}
	clients.Wait()
	if !s.redraw {
		fmt.Fprintln(s)
	}
	s.draw(lanes, begin, length)
}

// judge compares what the clients saw with what the limits promise.
func judge(lanes []*lane) error {
	var errs []error
	for _, l := range lanes {
		if t := l.tally(nil); t.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.name, t.err))
		} else if !l.kept(t) {
			errs = append(errs, fmt.Errorf("the limits did not keep what they promise to %s: %s", l.name, l.promise))
		}
	}
	return errors.Join(errs...)
}
