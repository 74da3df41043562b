#!/bin/sh
# Each module by itself, as those who import it have it: its go.mod is complete
# and tidy, and it vets and passes its tests with what it requires rather than
# with what the workspace happens to choose.
set -eu
. "$(dirname "$0")/modules.sh"
each sh -c 'export GOWORK=off && go mod tidy -diff && go vet ./... && go test ./...'
