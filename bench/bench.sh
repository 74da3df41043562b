#!/bin/sh
# bench.sh OUT [ROUNDS]: measures every row, interleaved over rounds in random
# order, with the raw output in OUT. LAYERS picks among "A unique heap attack B C D"; C needs
# redis-server and redis-benchmark, D memcached.
set -eu
cd "$(dirname "$0")"
out=${1:-out} rounds=${2:-5} layers=${LAYERS:-A unique heap attack B C D}
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
mkdir -p "$out"
go test -c -o "$bin/bench.test" .
go build -o "$bin" ./cmd/flood ./cmd/remote ./cmd/table
{ date; uname -srm; go version; getconf _NPROCESSORS_ONLN; } >"$out/machine.txt"

# The tables of floor-add and floor-gcra can not hold the keys of the attack.
# Peers in a new order each round, so that a slow minute hits all of them.
shuffled() { "$bin/flood" | awk 'BEGIN { srand('"$(date +%s)"') } { print rand() "\t" $0 }' | sort -n | cut -f2; }
quoted() { printf '%s' "$1" | sed 's/[()]/\\&/g'; }
bench() { "$bin/bench.test" -test.run '^$' -test.bench "$1" -test.benchtime "$2" -test.timeout 20m | grep '^Benchmark' || true; }

r=1
while [ "$r" -le "$rounds" ]; do
	for layer in $layers; do
		echo "round $r of $rounds, layer $layer, load $(uptime | sed 's/.*average[s]*: //')" >&2
		case $layer in
		A) shuffled | while read -r p; do bench "^BenchmarkMemory\$/^peer=$(quoted "$p")\$" 100ms; done ;;
		unique) shuffled | while read -r p; do bench "^BenchmarkUnique\$/^peer=$(quoted "$p")\$" 1x; done ;;
		heap) shuffled | while read -r p; do "$bin/flood" -peer="$p" -mode=heap; done ;;
		attack) [ "$r" -gt 3 ] || shuffled | grep -v 'floor-[ag]' | while read -r p; do "$bin/flood" -peer="$p" -mode=attack; done ;;
		B) bench '^BenchmarkHTTP$' 100ms ;;
		C) "$bin/remote" -rounds 5; "$bin/remote" -scripts -rounds 1 ;;
		D) "$bin/remote" -memcached -rounds 5 ;;
		esac >>"$out/$layer.txt"
	done
	r=$((r + 1))
done
for layer in $layers; do "$bin/table" "$out/$layer.txt"; done
