#!/usr/bin/env python3
"""Checks the simulator itself: that it repeats, that it passes, and that it finds what was planted.

usage: check_sim.py BUILD/sim [SEEDS]

A simulator that finds nothing is suspected first: each bug that the engine keeps as a test-only switch must be
found, and the line that the failure prints must reproduce it byte for byte.
"""
import re
import shlex
import subprocess
import sys

PLANTS = ["reply_before_commit", "forget_request_id", "lose_letters", "lose_successor", "lose_update",
          "reset_loses_signals", "child_does_not_wait", "ignore_close_policy", "lose_action",
          "mark_runs_ahead", "lose_action_end"]
PLANT_ARGS = ["--seeds", "1..8", "--steps", "4000"]
PLANT_ARGS_OF = {  # what needs a rare moment
    "lose_update": ["--seeds", "1..24", "--steps", "4000"],
    "child_does_not_wait": ["--seeds", "1..16", "--steps", "4000"],
    "lose_action": ["--seeds", "1..16", "--steps", "10000", "--profile", "crash"],
}
SWARM_STEPS = "12000"
REPEAT_SEEDS = range(1, 4)
PROFILES = ["calm", "crash", "clock", "network", "worker"]


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

    def finds(self, plant):
        args = PLANT_ARGS_OF.get(plant, PLANT_ARGS)
        result = self.run(*args, "--jobs", "2", "--plant", plant)
        failures = [line for line in result.stdout.splitlines() if line.startswith("FAIL ")]
        self.expect(f"{plant} is found", result.returncode == 1 and len(failures) > 0, result.stdout[-2000:])
        if not failures:
            return
        found_by = sorted({re.search(r"check=(\w+)", line).group(1) for line in failures})
        print(f"# {plant}: {len(failures)} seeds of {args[1]}, by {' '.join(found_by)}")
        command = shlex.split(re.search(r"reproduce: build/sim (.*)$", failures[0]).group(1))
        again = self.run(*command)
        self.expect(f"the line reproduces {plant}", again.stdout.splitlines()[-1:] == failures[:1], again.stdout[-2000:])

    def refuses(self, *args):
        self.expect(f"{' '.join(args)} is refused", self.run(*args).returncode == 2)


def main():
    checks = Checks(sys.argv[1])
    seeds = sys.argv[2] if len(sys.argv) > 2 else "1..20"
    for seed in REPEAT_SEEDS:
        checks.repeats(seed)
    checks.seeds_differ()
    for plant in PLANTS:
        checks.finds(plant)
    checks.passes("swarm", seeds, "--steps", SWARM_STEPS)
    for profile in PROFILES:
        checks.passes(profile, "1..2")
    checks.refuses("--seed")
    checks.refuses("--seeds", "5")
    checks.refuses("--profile", "nothing")
    checks.refuses("--plant", "nothing")
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
