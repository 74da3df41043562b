package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/stint-go/stint/policyfile"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Say everything that is wrong with policy files",
		Long: `Says everything that is wrong with policy files: each problem with its line and
what to do about it. Nothing is asked of any server.

The exit code is 0 where all files are right, 1 where one is not, and 2 where
one can not be read.`,
		Example: `  stint check limits.yaml
  git diff --name-only | grep limits.*yaml | xargs stint check`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			var bad bool
			for _, name := range names {
				f, err := readFile(name)
				var problems policyfile.Problems
				switch {
				case errors.As(err, &problems):
					bad = true
					for _, p := range problems {
						fmt.Fprintln(cmd.OutOrStdout(), p)
					}
				case err != nil:
					return err
				default:
					fmt.Fprintf(cmd.OutOrStdout(), "%s: fine, %s\n", name, count(len(f.Policies), "policy", "policies"))
				}
			}
			if bad {
				return errNo
			}
			return nil
		},
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
