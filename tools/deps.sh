#!/bin/bash
# Installs the Debian packages that a set of tasks needs, and only those that are missing.
#
#   tools/deps.sh build [test] [peers] [coverage]   install what is missing
#   tools/deps.sh --check build [test]   only say what is missing; exit 1 if anything is
#
# Needs root or sudo to install. Without either it prints the command to run and exits 1.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

table() {
    cat <<'END'
build gcc                    C compiler, ASan and UBSan run-time
build libc6-dev              C library headers
build meson                  configures the build
build ninja-build            runs the build
build pkg-config             finds the libraries below
build python3                tools/*.py and generated tables
build libevent-dev           event loop
build libmimalloc-dev        allocator
build libnghttp2-dev         HTTP/2 framing
build libprotobuf-c-dev      protobuf run-time for C
build protobuf-c-compiler    proto/*.proto to C
build libprotobuf-dev        google/protobuf/*.proto
build libsqlite3-dev         embedded store
build zlib1g-dev             gzip of gRPC messages
build tzdata                 time zones, copied into the binary
test  clang                  second compiler; fuzzing
test  curl                   runs the examples of docs/http.md
test  protobuf-compiler      reads proto/ for the contract check
test  python3-protobuf       Google's JSON mapping, to compare ours with
test  faketime               clocks that are set while the server runs
test  jq                     runs the examples of the command line
test  libclang-rt-14-dev     libFuzzer and the sanitizers for clang
test  sqlite3                reads data files beside the server
test  tmux                   a terminal for what only a terminal shows
test  nodejs                 runs the SDK, unless Node 20 or newer is there
test  npm                    installs the SDK, unless there already
coverage clang               the compiler that counts conditions
coverage libclang-rt-14-dev  what the programs count with
coverage llvm                llvm-profdata and llvm-cov, which read the counts
peers npm                    installs Restate and DBOS, unless there already
peers postgresql-15          the database of DBOS
peers strace                 counts the syncs of each
END
}

is_present() {
    case $1 in
    nodejs) "$here/node.sh" --version >/dev/null 2>&1 && return 0 ;;
    npm) command -v npm >/dev/null && return 0 ;;
    esac
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

missing_for() {
    local set package why
    while read -r set package why; do
        case " $* " in
        *" $set "*) is_present "$package" || printf '%s %s\n' "$package" "$why" ;;
        esac
    done < <(table)
}

# The lists may be absent (a container image) or too old to name a package.
lists_know() {
    local package
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_update() {
    echo "deps: apt-get update"
    as_root apt-get update -qq
}

# Of apt's output, the size of the download and the packages that were asked for.
apt_install() {
    echo "deps: apt-get install $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o Dpkg::Use-Pty=0 "$@" </dev/null |
        awk -v asked=" $* " '/^Need to get/ { print "  " $0; fflush() }
            /^Setting up/ { sub(/:.*/, "", $3); if (index(asked, " " $3 " ")) { print "  " $3 " " $4; fflush() } }'
}

check_only=no
if [ "${1-}" = --check ]; then
    check_only=yes
    shift
fi
if [ $# -eq 0 ]; then
    echo "usage: tools/deps.sh [--check] build|test|peers|coverage ..." >&2
    exit 2
fi
if ! command -v dpkg-query >/dev/null; then
    echo "deps: not a Debian system; packages are not checked (the list is in tools/deps.sh)"
    exit 0
fi

mapfile -t lines < <(missing_for "$@")
if [ ${#lines[@]} -eq 0 ]; then
    echo "deps: all present ($*)"
    exit 0
fi
packages=("${lines[@]%% *}")
echo "deps: missing for $*:"
for line in "${lines[@]}"; do
    printf '  %-20s %s\n' "${line%% *}" "${line#* }"
done

command_line="apt-get install -y --no-install-recommends ${packages[*]}"
if [ $check_only = yes ]; then
    echo "deps: to install them: make deps, or as root: $command_line" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "deps: not root and no sudo; run as root: apt-get update && $command_line" >&2
    exit 1
fi
lists_know "${packages[@]}" || apt_update
if ! apt_install "${packages[@]}"; then
    echo "deps: failed; once more with new package lists"
    if ! apt_update || ! apt_install "${packages[@]}"; then
        echo "deps: could not install; run as root: apt-get update && $command_line" >&2
        exit 1
    fi
fi
echo "deps: installed ${#packages[@]} packages"
