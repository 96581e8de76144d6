#!/bin/bash
# Runs meson's tests in a build directory and ends with one line: "N passed, M failed".
#
#   tools/run_tests.sh BUILD_DIR [ARGS of meson test]
set -uo pipefail
shopt -s nullglob

build=$1
shift
rm -f "$build"/meson-logs/testlog*.json
meson test -C "$build" --no-rebuild --print-errorlogs "$@"
status=$?
python3 "$(dirname "$0")/test_summary.py" "$build"/meson-logs/testlog*.json || status=1
exit $status
