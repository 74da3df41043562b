#!/bin/sh
# Runs all tests of all modules of the workspace; arguments go to go test.
set -eu
. "$(dirname "$0")/modules.sh"
each go test "$@" ./...
