#!/bin/bash
# The SDKs in Python and Java, and Mistral's client in Python, against the release binary: installs what they need
# under build/, runs test/python and test/java, and ends with one line: "N passed, M failed".
#
#   tools/sdks.sh [python|java] ...    both, unless some are named
#
# RONDO_BIN is the server to judge, build/rondo if it is not set. PYTHON, JAVA_HOME and MVN choose other tools.
# What is missing on this machine is named, and what needs it is skipped. That is no failure.
set -uo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")
venv=$root/build/tools/python
export RONDO_BIN=${RONDO_BIN:-$root/build/rondo}
[[ $RONDO_BIN = /* ]] || RONDO_BIN=$PWD/$RONDO_BIN
limit_s=900 # for each program: ends what hangs, and its servers with it
passed=0
failed=0

skip() {
    echo "skipped: $1: $2"
}

count() { # of passed, of failed
    passed=$((passed + $1))
    failed=$((failed + $2))
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# A venv with exactly what requirements.txt names; kept until that changes.
install_python() {
    local python log=$root/build/tools/python.log
    cmp -s "$root/test/python/requirements.txt" "$venv/requirements.txt" && "$venv/bin/python" -c '' 2>/dev/null && return 0
    if ! python=$(find_python); then
        skip python "there is no python3 of version 3.10 or newer"
        return 1
    fi
    mkdir -p "$root/build/tools"
    rm -rf "$venv"
    if ! "$python" -m venv "$venv" >"$log" 2>&1; then
        skip python "$python cannot make a venv (Debian: python3-venv); $log says why"
        return 1
    fi
    echo "python: installing what test/python/requirements.txt names"
    if ! "$venv/bin/pip" install -q --disable-pip-version-check -r "$root/test/python/requirements.txt" >"$log" 2>&1; then
        if grep -qE 'from versions: none|Max retries|Connection|timed out|name resolution|ProxyError|SSLError' "$log"; then
            skip python "pip could not reach its packages; $log says why"
        else
            cat "$log"
            count 0 1
        fi
        return 1
    fi
    cp "$root/test/python/requirements.txt" "$venv/requirements.txt"
}

run_python() {
    local name log ran bad
    install_python || return 0
    echo "python: $("$venv/bin/python" --version), $(sed -n '/^[a-z]/p' "$venv/requirements.txt" | head -2 | paste -sd ' ')"
    for name in temporal mistral; do
        log=$root/build/sdks-python-$name.log
        timeout -s INT -k 60 $limit_s "$venv/bin/python" -B "$root/test/python/${name}_test.py" 2>&1 | tee "$log"
        ran=$(sed -n 's/^Ran \([0-9]*\) tests\? in .*/\1/p' "$log")
        bad=$(sed -n 's/^FAILED (\(.*\))$/\1/p' "$log" | tr -c '0-9\n' ' ' | awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n + 0 }')
        if [ -z "$ran" ]; then
            ran=1 bad=1
        fi
        count $((ran - bad)) "$bad"
    done
}

run_java() {
    local mvn=${MVN:-mvn} log=$root/build/sdks-java.log totals
    local options=(-B -q -f "$root/test/java/pom.xml" "-Dmaven.repo.local=$root/build/tools/maven" "-Drondo.build=$root/build/java")
    local major
    major=$("${JAVA_HOME:+$JAVA_HOME/bin/}javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
    if [ "${major:-0}" -lt 17 ]; then
        skip java "there is no JDK of version 17 or newer"
        return 0
    fi
    if ! "$mvn" -version >/dev/null 2>&1; then
        skip java "there is no mvn"
        return 0
    fi
    mkdir -p "$root/build"
    echo "java: javac $major, $(sed -n 's/.*<temporal.version>\(.*\)<.*/io.temporal:temporal-sdk \1/p' "$root/test/java/pom.xml")"
    if ! "$mvn" "${options[@]}" test-compile >"$log" 2>&1; then
        if grep -qE 'Could not transfer|Unknown host|Connection refused|timed out|name resolution' "$log"; then
            skip java "mvn could not reach its packages; $log says why"
        else
            cat "$log"
            count 0 1
        fi
        return 0
    fi
    rm -rf "$root/build/java/surefire-reports"
    timeout -s INT -k 60 $limit_s "$mvn" "${options[@]}" surefire:test 2>&1 | tee "$log"
    sed -n 's/.*testcase name="\([^"]*\)".* time="\([^"]*\)".*/\1 (\2 s)/p' "$root"/build/java/surefire-reports/TEST-*.xml
    totals=$(cat "$root"/build/java/surefire-reports/*.txt 2>/dev/null |
        sed -n 's/^Tests run: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\),.*/\1 \2 \3/p' |
        awk '{ ran += $1; bad += $2 + $3 } END { print ran - bad, bad + 0 }')
    if [ "${totals% *}" -eq 0 ]; then
        totals="0 1"
    fi
    # shellcheck disable=SC2086
    count $totals
}

if [ ! -x "$RONDO_BIN" ]; then
    echo "sdks: there is no $RONDO_BIN; run make first" >&2
    exit 2
fi
for suite in "${@:-python java}"; do
    for each in $suite; do
        case $each in
        python | java) "run_$each" ;;
        *)
            echo "usage: tools/sdks.sh [python|java] ..." >&2
            exit 2
            ;;
        esac
    done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
