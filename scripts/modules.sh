# Sourced by the other scripts, which lie one directory below the root: says
# which modules there are, from go.work, and runs one command in each.

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

# modules prints the directory of every module of the workspace, "." first.
modules() {
	dirs=$(go list -m -f '{{.Dir}}') || return 1
	printf '%s\n' "$dirs" | while IFS= read -r dir; do
		dir=${dir#"$root"}
		dir=${dir#/}
		printf '%s\n' "${dir:-.}"
	done
}

# each runs a command in every module, saying where it is and how long it took.
# It goes on after a failure, so that one run shows everything, and fails at the
# end.
each() {
	list=$(modules) || return 1
	total=$(printf '%s\n' "$list" | wc -l | tr -d ' ')
	n=0 failed=
	while IFS= read -r dir; do
		n=$((n + 1))
		printf '\n[%d/%d] %s: %s\n' "$n" "$total" "$dir" "$*"
		start=$(date +%s)
		if (cd "$dir" && "$@") </dev/null; then
			printf '[%d/%d] %s: passed, %d s\n' "$n" "$total" "$dir" $(($(date +%s) - start))
		else
			printf '[%d/%d] %s: FAILED, %d s\n' "$n" "$total" "$dir" $(($(date +%s) - start))
			failed="$failed $dir"
		fi
	done <<-EOF
		$list
	EOF
	if [ -n "$failed" ]; then
		printf '\nFAILED in:%s\n' "$failed" >&2
		return 1
	fi
	printf '\nAll %d modules passed.\n' "$total"
}
