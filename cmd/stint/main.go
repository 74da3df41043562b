// Stint says which limit to choose, what it would do to recorded traffic, and who
// is limited right now.
//
//	go run ./cmd/stint -h
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	fine  = 0
	no    = 1 // the answer is no: a file with problems, requests refused under --fail-on-refused
	wrong = 2 // wrong use, or something broke
)

// errNo ends a command whose answer is no; all has been said.
var errNo = errors.New("no")

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return fine
	case errors.Is(err, errNo):
		return no
	default:
		fmt.Fprintln(errs, "stint:", err)
		return wrong
	}
}

const about = `Which limit should I choose, what would it do, and who is limited right now?

  stint replay --rate 100/m access.log        who would have been refused
  stint advise access.log                     which limit to choose
  stint check limits.yaml                     what is wrong with a policy file
  stint why -p limits.yaml -b redis://... --ip 203.0.113.7    why somebody is refused, and until when

Commands run the production code of the library; under the clock of a trace
where there is one. The exit code is 0 where all is fine, 1 where the answer is
no, and 2 for wrong use or where something broke.`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "stint",
		Short:         "Rate limits: choose them, try them, look at them",
		Long:          about,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(newReplay(), newAdvise(), newCheck(), newPeek(), newWhy(), newReset(), newBan(), newUnban())
	return root
}
