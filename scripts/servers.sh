#!/bin/sh
# Sees to it that the servers that tests start are installed. It installs them
# where that takes no question (root on Debian, Homebrew on macOS); elsewhere,
# and with STINT_NO_INSTALL=1, it prints the command and fails. It starts none:
# tests start their own, on free ports.
set -eu

# One server a line: the program, its package in Debian, its formula in Homebrew.
needed='
redis-server redis-server redis
memcached memcached memcached
chromium chromium chromium
'
if [ $# -gt 0 ]; then # for a try: servers.sh "redis-server redis-server redis" …
	needed=$(printf '%s\n' "$@")
fi

programs='' debian='' brew=''
while read -r program package formula; do
	if [ -n "$program" ] && ! command -v "$program" >/dev/null 2>&1; then
		programs="$programs $program" debian="$debian $package" brew="$brew $formula"
	fi
done <<EOF
$needed
EOF
if [ -z "$programs" ]; then
	exit 0
fi
echo "The tests need these programs, which are not installed:$programs"

# Debian starts a server when it is installed, unless this file says no.
policy=/usr/sbin/policy-rc.d
install_debian() {
	if [ ! -e $policy ]; then
		trap 'rm -f $policy' EXIT
		trap 'exit 1' HUP INT TERM
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
	fi
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2086 # a list of words
	apt-get install -y -q --no-install-recommends $debian && return
	apt-get update -q # the list of packages may be missing or old
	# shellcheck disable=SC2086
	apt-get install -y -q --no-install-recommends $debian
}

how=
if command -v apt-get >/dev/null 2>&1; then
	how="apt-get install -y$debian"
	if [ "$(id -u)" != 0 ]; then
		how="sudo $how"
	elif [ -z "${STINT_NO_INSTALL:-}" ]; then
		echo "+ $how"
		install_debian </dev/null
		how=
	fi
elif command -v brew >/dev/null 2>&1; then
	how="brew install$brew"
	if [ -z "${STINT_NO_INSTALL:-}" ]; then
		echo "+ $how"
		# shellcheck disable=SC2086
		HOMEBREW_NO_AUTO_UPDATE=1 brew install $brew </dev/null
		how=
	fi
else
	how="(with your system's package manager)$programs"
fi
if [ -n "$how" ]; then
	printf 'Install them with\n\n\t%s\n\n' "$how" >&2
	exit 1
fi

for program in $programs; do
	if ! command -v "$program" >/dev/null 2>&1; then
		echo "$program is still not in PATH" >&2
		exit 1
	fi
done
