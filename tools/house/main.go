// Command house checks the rules of this repository that the compiler, vet and
// staticcheck don't know: that documentation says what the code does, that
// tests neither skip nor sleep, that modules fit together. CONTRIBUTING.md
// lists the rules; each is one function here, with a good and a bad sample in
// testdata.
//
//	go run ./tools/house          # from the root: print what is wrong, exit 1 if anything is
//	go run ./tools/house -write   # first copy the snippets of compiled files into the pages
package main

import (
	"flag"
	"fmt"
	"os"
)

// A check looks at the whole tree and says what is wrong.
type check struct {
	name string
	run  func(*tree) []finding
}

var checks = []check{
	{"snippets", checkSnippets},
	{"links", checkLinks},
	{"commands", checkCommands},
	{"exported", checkExported},
	{"words", checkWords},
	{"files", checkFiles},
	{"tests", checkTests},
	{"addresses", checkAddresses},
	{"modules", checkModules},
	{"imports", checkImports},
}

func main() {
	write := flag.Bool("write", false, "bring the snippets in the pages up to date first")
	root := flag.String("root", ".", "the root of the repository")
	flag.Parse()

	t, err := openTree(*root)
	if err == nil && *write {
		if err = writeSnippets(t); err == nil {
			t, err = openTree(*root)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(2)
	}
	bad := 0
	for _, c := range checks {
		for _, f := range c.run(t) {
			fmt.Printf("%s (%s)\n", f, c.name)
			bad++
		}
	}
	if bad > 0 {
		fmt.Fprintf(os.Stderr, "house: %d problems in %d files looked at\n", bad, len(t.files))
		os.Exit(1)
	}
	fmt.Printf("house: %d checks over %d files, nothing to complain about\n", len(checks), len(t.files))
}
