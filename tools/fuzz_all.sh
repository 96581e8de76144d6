#!/bin/bash
# Fuzzes every target until each has had RUNS runs, a piece of each in turn, and prints a table.
#
#   tools/fuzz_all.sh RUNS [TARGET...]      RUNS 0 only prints the table
#
# Most runs are on a build with UBSan alone that traces no comparisons (FAST_BUILD), which is many times as fast; every tenth
# piece is on the one with ASan (FUZZ_BUILD), if it is there, which does, and finds what a comparison wants. Both are made
# by `make fuzz-all`. What was done is kept in FUZZ_BUILD/runs.tsv and counts the next time; corpora grow in
# FUZZ_BUILD/corpus, finds are written to FUZZ_BUILD/finds.
set -uo pipefail
cd "$(dirname "$0")/.."

runs_wanted=${1:?usage: tools/fuzz_all.sh RUNS [TARGET...]}
shift
fuzz_build=${FUZZ_BUILD:-build-fuzz}
fast_build=${FAST_BUILD:-build-fuzz-fast}
piece_runs=${PIECE_RUNS:-1000000}
piece_seconds=${PIECE_SECONDS:-60}
max_len=${MAX_LEN:-1024}
record=$fuzz_build/runs.tsv
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in test/fuzz/fuzz_*.c; do
        name=${file##*/fuzz_}
        targets+=("${name%.c}")
    done
fi
mkdir -p "$fuzz_build/finds"
touch "$record"

# sum TARGET COLUMN: of all pieces of a target; columns are target, build, runs, seconds, coverage, finds.
sum() {
    awk -F '\t' -v target="$1" -v column="$2" '$1 == target { n += $column } END { print n + 0 }' "$record"
}

most() {
    awk -F '\t' -v target="$1" -v column="$2" '$1 == target && $column > n { n = $column } END { print n + 0 }' "$record"
}

# piece TARGET BUILD_NAME BUILD RUNS: one stretch of fuzzing, and its line in the record.
piece() {
    local log=$fuzz_build/$1.log corpus=$fuzz_build/corpus/$1 dictionary=() begin=$SECONDS
    mkdir -p "$corpus"
    [ -f "test/fuzz/$1.dict" ] && dictionary=("-dict=test/fuzz/$1.dict")
    "$3/test/fuzz_$1" -runs="$4" -max_total_time="$piece_seconds" -max_len="$max_len" -timeout=60 -entropic=0 -reload=0 -print_final_stats=1 \
        -artifact_prefix="$fuzz_build/finds/$1-" "${dictionary[@]}" "$corpus" "test/fuzz/corpus/$1" >"$log" 2>&1
    local failed=$?
    local runs cover
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(grep -o ' cov: [0-9]*' "$log" | tail -1 | grep -o '[0-9]*')
    [ -z "$runs" ] && runs=$(grep -o '^#[0-9]*' "$log" | tail -1 | tr -d '#') # it crashed: up to the last report
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "${runs:-0}" "$((SECONDS - begin))" "${cover:-0}" "$((failed != 0))" >>"$record"
    return $failed
}

# One piece of a target that still needs some; false when it has enough or stopped with a find.
further() {
    local left=$((runs_wanted - $(sum "$1" 3)))
    [ -f "$fuzz_build/$1.found" ] && return 1
    [ "$left" -le 0 ] && return 1
    local pieces name=fast build=$fast_build
    pieces=$(grep -c "^$1	" "$record")
    [ $((pieces % 10)) -eq 1 ] && [ -x "$fuzz_build/test/fuzz_$1" ] && name=asan build=$fuzz_build
    if ! piece "$1" "$name" "$build" "$((left < piece_runs ? left : piece_runs))"; then
        cp "$fuzz_build/$1.log" "$fuzz_build/$1.found" # delete it once the find is fixed
        return 1
    fi
}

more=1
while [ "$more" = 1 ]; do
    more=0
    for target in "${targets[@]}"; do
        [ "$runs_wanted" -gt 0 ] && further "$target" && more=1
    done
done

status=0
printf '%-12s %12s %12s %9s %9s %6s\n' target runs 'with ASan' seconds coverage finds
for target in "${targets[@]}"; do
    asan=$(awk -F '\t' -v target="$target" '$1 == target && $2 == "asan" { n += $3 } END { print n + 0 }' "$record")
    runs=$(sum "$target" 3)
    finds=$(sum "$target" 6)
    printf '%-12s %12s %12s %9s %9s %6s\n' "$target" "$runs" "$asan" "$(sum "$target" 4)" "$(most "$target" 5)" "$finds"
    { [ "$runs" -lt "$runs_wanted" ] || [ -f "$fuzz_build/$target.found" ]; } && status=1
done
exit $status
