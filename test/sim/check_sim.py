#!/usr/bin/env python3
"""Checks the simulator itself: that it repeats, and that each profile passes. What it finds is checked by tools/mutate.py.

usage: check_sim.py BUILD/sim
"""
import re
import subprocess
import sys

REPEAT_SEEDS = range(1, 4)
PROFILES = ["calm", "crash", "clock", "network", "worker", "years"]


class Checks:
    def __init__(self, sim):
        self.sim = sim
        self.passed = 0
        self.failed = 0

    def run(self, *args):
        return subprocess.run([self.sim, *args], capture_output=True, text=True, timeout=1800)

    def expect(self, name, condition, detail=""):
        if condition:
            self.passed += 1
            print(f"ok - {name}")
        else:
            self.failed += 1
            print(f"not ok - {name}\n{detail}")

    def repeats(self, seed):
        first, second = (self.run("--seed", str(seed), "--steps", "5000", "--trace") for _ in range(2))
        same = first.stdout == second.stdout and first.returncode == second.returncode
        self.expect(f"seed {seed} gives the same bytes twice", same and first.stdout != "",
                    first.stdout[-2000:] + second.stdout[-2000:])

    def seeds_differ(self):
        hashes = {re.search(r"hash=(\w+)", self.run("--seed", str(s), "--steps", "2000").stdout + "hash=none").group(1)
                  for s in REPEAT_SEEDS}
        self.expect("different seeds give different worlds", len(hashes) == len(REPEAT_SEEDS), str(hashes))

    def passes(self, profile, seeds, *args):
        result = self.run(*args, "--seeds", seeds, "--jobs", "2", "--profile", profile)
        self.expect(f"profile {profile}, seeds {seeds}", result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:])

    def refuses(self, *args):
        self.expect(f"{' '.join(args)} is refused", self.run(*args).returncode == 2)


def main():
    checks = Checks(sys.argv[1])
    for seed in REPEAT_SEEDS:
        checks.repeats(seed)
    checks.seeds_differ()
    for profile in PROFILES:
        checks.passes(profile, "1..2", "--steps", "8000")
    checks.refuses("--seed")
    checks.refuses("--seeds", "5")
    checks.refuses("--profile", "nothing")
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
