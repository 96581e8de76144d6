#!/bin/bash
# The TypeScript SDK's own integration suite, unmodified, against a server of ours.
#
#   tools/sdk_suite.sh setup CHECKOUT                      once: install, unpack, compile
#   tools/sdk_suite.sh run CHECKOUT SERVER OUT [NAME ...]  every file that can run here, or some: schedules 'worker-*'
#
# CHECKOUT is a directory with the sources of a released SDK. What is generated for a release, its native part and
# its protobuf code, comes from the published packages of that version; everything else is compiled there, with
# the versions of its lock file.
# Each file has a network of its own with a fresh server at the SDK's default address. The servers that tests start
# themselves are the same: the SDK looks for one that it downloaded before in the directory for temporary
# files, and finds this one. OUT gets the TAP of each file, and results.txt with one line for each test.
# Needs network namespaces: root, or a kernel that gives them to users.
set -euo pipefail

# Those that need what is not there: Nexus, a network, the time-skipping server in Java.
left_out='@(*nexus*|test-temporal-cloud|test-testenvironment)'
limit_s=400

pnpm() { npx -y pnpm@10.27.0 "$@"; }
sdk_version() { sed -n 's/^  "version": "\(.*\)",$/\1/p' "$checkout/packages/test/package.json"; }

setup() {
    local version name
    version=$(sdk_version)
    cd "$checkout"
    pnpm install --frozen-lockfile --ignore-scripts --filter . --filter '@temporalio/test...'
    for name in core-bridge proto; do
        (cd "packages/$name" && npm pack --silent "@temporalio/$name@$version" &&
            tar -xzf temporalio-*.tgz --strip-components=1 --exclude=package/package.json && rm temporalio-*.tgz)
    done
    cd packages/test
    pnpm run build:protos
    pnpm exec tsc --build
}

# Runs inside the network of its own.
in_network() {
    local file=$1 temp=$2 server_pid status=0
    ip link set lo up
    "$temp/temporal-sdk-typescript-$(sdk_version)" server start-dev --headless \
        --db-filename "$temp/suite.db" --dynamic-config-value system.enableActivityEagerExecution=true \
        --dynamic-config-value history.enableRequestIdRefLinks=true >"$temp/server.log" 2>&1 &
    server_pid=$!
    until (exec 3<>/dev/tcp/localhost/7233) 2>/dev/null; do kill -0 $server_pid; sleep 0.1; done
    cd "$checkout/packages/test"
    TMPDIR=$temp RUN_INTEGRATION_TESTS=true timeout -k 10 $limit_s \
        node_modules/.bin/ava --tap "lib/$file.js" >"$out/$file.tap" 2>"$out/$file.err" || status=$?
    kill $server_pid && wait $server_pid || status=$?
    cp "$temp/server.log" "$out/$file.server.log"
    return $status
}

# A file that ends badly without a test that failed was stopped, or its server was gone.
run_file() {
    local temp status=0
    temp=$(mktemp -d)
    : >"$out/$1.tap"
    # test-bridge asks as version 1.0.0, whatever its own is.
    cp "$server" "$temp/temporal-sdk-typescript-$(sdk_version)"
    ln "$temp/temporal-sdk-typescript-$(sdk_version)" "$temp/temporal-sdk-typescript-1.0.0"
    unshare -r -n "$0" in_network "$checkout" "$server" "$out" "$1" "$temp" || status=$?
    rm -rf "$temp"
    awk -v file="$1" -v status=$status '
        /^(not )?ok / {
            state = /# (SKIP|TODO)/ ? "skipped" : /^ok/ ? "passed" : "failed"
            if (state == "failed") status = 0
            sub(/^(not )?ok [0-9]+ - /, "")
            print state "\t" file "\t" $0
        }
        END { if (status) print "failed\t" file "\t(exit code " status ")" }' "$out/$1.tap" |
        tee -a "$out/results.txt" | cut -f1,2 | sort | uniq -c
}

run() {
    local path file name
    mkdir -p "$out"
    : >"$out/results.txt"
    for path in "$checkout"/packages/test/lib/test-*.js; do
        file=$(basename "$path" .js)
        if [ $# = 0 ]; then
            # shellcheck disable=SC2053 # a pattern
            [[ $file == $left_out ]] || run_file "$file"
        fi
        for name in "$@"; do
            if [[ $file == test-$name ]]; then run_file "$file"; fi
        done
    done
    cut -f1 "$out/results.txt" | sort | uniq -c
    ! grep -q ^failed "$out/results.txt"
}

usage() {
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

[ $# -ge 2 ] || usage
command=$1 checkout=$(realpath "$2")
case $command in
setup) setup ;;
run | in_network)
    [ $# -ge 4 ] || usage
    server=$(realpath "$3") out=$(realpath -m "$4")
    shift 4
    "$command" "$@"
    ;;
*) usage ;;
esac
