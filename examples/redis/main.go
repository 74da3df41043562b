// Redis starts an application twice and sends requests to both processes: they
// share one limit, because they count in one Redis. Its status is 1 where they
// did not.
//
//	go run ./examples/redis -h
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE) // the last: | head
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "redis:", err)
		os.Exit(1)
	}
}

const usage = `Watch two processes of one application share one limit.

  go run ./examples/redis                                   with a redis-server of its own
  go run ./examples/redis -redis redis://127.0.0.1:6379     with one that runs
  go run ./examples/redis -memory                           without: each process counts by itself

The application is examples/redis/app.go. It admits 10 requests a minute for each
API key. Both processes get 10 requests with one key, in turn, and say how many
they let through. The redis-server that this starts listens on a free port of
127.0.0.1, keeps nothing on disk and ends with the program.

`

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "serve" { // one of the two processes
		return serve(args[1:], os.Stdin, out)
	}
	flags := flag.NewFlagSet("redis", flag.ContinueOnError)
	flags.SetOutput(out)
	url := flags.String("redis", "", "`URL` of a Redis that runs, such as redis://user:password@127.0.0.1:6379/0")
	memory := flags.Bool("memory", false, "count in the memory of each process, to see what is wrong with that")
	flags.Usage = func() { io.WriteString(out, usage); flags.PrintDefaults() }
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *memory && *url != "" {
		return errors.New("usage: redis [-redis URL | -memory]; -h says more")
	}
	if *memory {
		fmt.Fprintln(out, "Each process counts in its own memory.")
		return perform(ctx, out, "", 2*limit)
	}
	if *url == "" {
		s, err := startRedis(ctx)
		if err != nil {
			return err
		}
		defer s.stop()
		*url = "redis://" + s.addr
		fmt.Fprintf(out, "started redis-server on %s\n", s.addr)
	}
	if err := reach(ctx, *url); err != nil {
		return err
	}
	return perform(ctx, out, *url, limit)
}
