#!/bin/sh
# Runs every fuzz target of every module for FUZZTIME, one after the other.
# What it finds stays as a file under testdata/fuzz and is a test from then on.
set -eu
. "$(dirname "$0")/modules.sh"

# The targets of the packages of the module in the current directory.
targets() {
	grep -rl --include='*_test.go' '^func Fuzz' . | grep -v /testdata/ | sort | while IFS= read -r file; do
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while IFS= read -r name; do
			echo "$(dirname "$file") $name"
		done
	done
}

targets | while read -r pkg name; do
	printf '\n%s %s\n' "$pkg" "$name"
	go test -C "$pkg" -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-10s}" . </dev/null
done
