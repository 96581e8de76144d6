#!/bin/bash
# The benchmarks: prints a table and writes one JSON object a line to BUILD_DIR/bench.json.
#
#   test/bench/run.sh BUILD_DIR
#
# GetSystemInfo goes through the whole stack (HTTP/2, gRPC framing, protobuf, dispatch) but not to
# the disk. The server and h2load share this machine, so the figures are for the two together.
set -euo pipefail

build=$(realpath "$1")
seconds=${SECONDS_EACH:-3}
out=$build/bench.json
scratch=$(mktemp -d)
server=

stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$scratch"
}
trap stop EXIT

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

wait_for() {
    local try
    for ((try = 0; try < 200; try++)); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
            return 0
        fi
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    echo "bench: the server did not start:" >&2
    cat "$scratch/server.log" >&2
    return 1
}

url() {
    echo "http://127.0.0.1:$port/temporal.api.workflowservice.v1.WorkflowService/$1"
}

# h2load does not look at trailers, so one call is checked by hand first.
check_answers_ok() {
    nghttp -v -d "$scratch/empty" -H 'content-type: application/grpc' -H 'te: trailers' "$(url "$1")" |
        grep -q 'grpc-status: 0' || {
        echo "bench: $1 does not answer grpc-status 0" >&2
        return 1
    }
}

measure() {
    local method=$1 connections=$2 streams=$3
    h2load -D "$seconds" -c "$connections" -m "$streams" -d "$scratch/empty" \
        -H 'content-type: application/grpc' -H 'te: trailers' "$(url "$method")" >"$scratch/h2load.txt"
    awk -v method="$method" -v connections="$connections" -v streams="$streams" -v out="$out" '
        /^finished in/ { rate = $4 + 0 }
        /^requests:/ { total = $2; ok = $8; bad = $10 + $12 + $14 }
        /^time for request:/ { mean = $6 }
        END {
            if (ok == 0 || bad > 0) {
                printf "bench: %d requests succeeded, %d did not\n", ok, bad > "/dev/stderr"
                exit 1
            }
            printf "%-24s%12d%9d%14.0f%12s\n", method, connections, streams, rate, mean
            printf "{\"bench\":\"%s\",\"connections\":%d,\"streams\":%d,\"requests\":%d,\"per_second\":%.0f,\"mean\":\"%s\"}\n",
                method, connections, streams, ok, rate, mean >> out
        }' "$scratch/h2load.txt"
}

: >"$out"
printf '\0\0\0\0\0' >"$scratch/empty" # a gRPC frame that holds an empty message
port=$(free_port)
"$build/rondo" server --data "$scratch/bench.db" --grpc "127.0.0.1:$port" --http "127.0.0.1:$(free_port)" \
    >"$scratch/server.log" 2>&1 &
server=$!
wait_for "$port"

check_answers_ok GetSystemInfo
printf '%-24s%12s%9s%14s%12s\n' call connections streams requests/s mean
measure GetSystemInfo 1 1
measure GetSystemInfo 4 50
kill "$server"
wait "$server" || true
server=

"$build/test/bench_store" "$scratch" "$seconds" | tee "$scratch/store.txt" | grep -v '^{'
grep '^{' "$scratch/store.txt" >>"$out"
"$build/test/bench_cal" | tee "$scratch/cal.txt" | grep -v '^{'
grep '^{' "$scratch/cal.txt" >>"$out" || true
"$build/test/bench_visibility" "$scratch" | tee "$scratch/visibility.txt" | grep -v '^{'
grep '^{' "$scratch/visibility.txt" >>"$out"
echo "bench: JSON lines in ${out#"$PWD"/}"
