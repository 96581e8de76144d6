#!/bin/bash
# The Node.js that the tests use, 20 (or NODE_OLDEST) or newer: the machine's own, else one from npm in build/tools.
#
#   tools/node.sh ARGS...     runs it
#   tools/node.sh --install   makes sure that there is one (needs npm)
set -euo pipefail

oldest=${NODE_OLDEST:-20}
tools=$(dirname "$(dirname "$(realpath "$0")")")/build/tools
from_npm=$tools/node_modules/node/bin/node

is_new_enough() {
    local major
    major=$("$1" --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p') || return 1
    [ "${major:-0}" -ge $oldest ]
}

find_node() {
    local candidate
    for candidate in node "$from_npm"; do
        if is_new_enough "$candidate"; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

if [ "${1-}" = --install ]; then
    if ! find_node >/dev/null; then
        echo "node: none of version $oldest or newer here; installing npm's node@$oldest into build/tools"
        mkdir -p "$tools"
        npm install --prefix "$tools" --no-save --no-audit --no-fund --loglevel=error "node@$oldest"
    fi
    if ! node=$(find_node); then
        echo "node: npm's node@$oldest could not be installed" >&2
        exit 1
    fi
    echo "node: $("$node" --version) ($node)"
    exit 0
fi

if ! node=$(find_node); then
    echo "node: version $oldest or newer is missing; run: tools/node.sh --install" >&2
    exit 1
fi
PATH=$(dirname "$node"):$PATH exec "$node" "$@"
