#!/usr/bin/env python3
"""Runs tests on a machine that stands still now and then, and says which fail.

usage: tools/stutter.py [--rounds N] [--seed N] BINARY FILE.test.mjs...

Each file of test/sdk or test/cli runs in a session of its own. All the while its processes are stopped for a moment and
go on again: the server, the test with its workers, or all of them. A test that waits for what it means passes all the
same; one that counts on speed does not. The output of those that fail is in the temporary directory that is named.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOES_S = (0.2, 1.2)
STANDS_S = [0.1, 0.3, 0.6, 1.0, 1.8]
SECONDS_MAX = 900  # only ends what hangs


def members(session):
    """The processes of a session: (pid, name)."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as f:
                head, _, tail = f.read().rpartition(")")
        except OSError:
            continue
        if int(tail.split()[3]) == session:
            found.append((int(entry), head.partition("(")[2]))
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def chosen(session, server, rng):
    who = rng.choice(["server", "others", "all"])
    return [pid for pid, name in members(session) if who == "all" or (who == "server") == (name == server)]


def run(path, binary, rng, output):
    """The exit code, None when it hung, and how often it stood still."""
    directory, name = os.path.split(os.path.abspath(path))
    command = [os.path.join(ROOT, "tools", "node.sh"), "--test", "--test-reporter=tap", name]
    test = subprocess.Popen(command, cwd=directory, stdout=output, stderr=subprocess.STDOUT,
                            env={**os.environ, "RONDO_BIN": binary}, start_new_session=True)
    begin, stops = time.monotonic(), 0
    while test.poll() is None and time.monotonic() - begin < SECONDS_MAX:
        time.sleep(rng.uniform(*GOES_S))
        pids = chosen(test.pid, os.path.basename(binary), rng)
        send(pids, signal.SIGSTOP)
        time.sleep(rng.choice(STANDS_S))
        send(pids, signal.SIGCONT)
        stops += 1
    code = test.poll()
    if code is None:
        send([pid for pid, _ in members(test.pid)], signal.SIGKILL)
        test.wait()
    return code, stops


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("binary", help="the server, called rondo")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    kept = tempfile.mkdtemp(prefix="rondo-stutter-")
    failed = 0
    for number in range(options.rounds):
        for path in options.files:
            log = os.path.join(kept, f"{os.path.basename(path)}.{number}")
            with open(log, "w", encoding="utf-8") as output:
                code, stops = run(path, os.path.abspath(options.binary), rng, output)
            word = "ok" if code == 0 else "hangs" if code is None else "FAILS"
            print(f"{word:<6} {path}, stood still {stops} times" + ("" if code == 0 else f": {log}"), flush=True)
            failed += code != 0
            if code == 0:
                os.unlink(log)
    if not failed:
        os.rmdir(kept)
    print(f"{options.rounds * len(options.files) - failed} passed, {failed} failed (--seed {options.seed})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
