#!/bin/bash
# The benchmarks: prints tables and writes one JSON object a line to BUILD_DIR/bench.json.
#
#   test/bench/run.sh BUILD_DIR
#
# SCALE multiplies the number of operations of the load generator, DIR is where its data files are made
# (default: BUILD_DIR, whose disk is then the one that is measured).
set -euo pipefail

build=$(realpath "$1")
seconds=${SECONDS_EACH:-3}
out=$build/bench.json
scratch=$(mktemp -d -p "${DIR:-$build}" bench.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

# A program prints lines for people and lines of JSON; each goes where it belongs.
measure() {
    "$@" | tee "$scratch/output" | grep -v '^{'
    grep '^{' "$scratch/output" >>"$out" || true
}

: >"$out"
"$build/test/bench_load" --server "$build/rondo" --dir "$scratch" --scale "${SCALE:-1}" --json "$scratch/load.json"
cat "$scratch/load.json" >>"$out"
measure "$build/test/bench_store" "$scratch" "$seconds"
measure "$build/test/bench_cal"
measure "$build/test/bench_visibility" "$scratch"
echo "bench: JSON lines in ${out#"$PWD"/}"
