#!/bin/sh
# gofmt, vet and staticcheck over all modules, then the house rules. It goes on
# after a failure, so that one run shows all there is to mend.
set -eu
. "$(dirname "$0")/modules.sh"
failed=0

echo 'gofmt'
unformatted=$(gofmt -l .) || failed=1
if [ -n "$unformatted" ]; then
	printf 'not formatted, run gofmt -w on:\n%s\n' "$unformatted" >&2
	failed=1
fi

each go vet ./... || failed=1

program=$(go tool -n staticcheck) # builds it, once
staticcheck() { "$program" "$@"; }
each staticcheck ./... || failed=1

printf '\nhouse rules\n'
go run ./tools/house || failed=1
exit $failed
