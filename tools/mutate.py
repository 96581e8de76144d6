#!/usr/bin/env python3
"""Plants known bugs, one at a time, and sees whether the tests find them.

usage: tools/mutate.py BUILD [--only NAME,...] [--often] [--count] [--jobs N] [--list]

The bugs are in test/sim/mutants.txt: for each a name, what goes wrong, the file, the lines that are changed, and who
must find it: a run of the simulator, or a test program. The tree itself is not touched: the changed file is compiled
beside it, with the command that BUILD has for it, and linked in front of the libraries.

Without --count a simulator stops at the first seed that fails, and the line that it prints must reproduce the
failure; with it, all seeds run, and the table says how many of them found the bug.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "test", "sim", "mutants.txt")
SECONDS_MAX = 600


class Mutant:
    def __init__(self, name):
        self.name = name
        self.text = ""
        self.edits = []  # (file, old lines, new lines)
        self.finder = []
        self.is_often = False


def read_table(path):
    mutants, current, edit = [], None, None
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            key, _, rest = line.partition(" ")
            if key == "==":
                current = Mutant(rest.strip())
                mutants.append(current)
            elif key == "often":
                current.is_often = True
            elif key == "what":
                current.text = rest.strip()
            elif key == "by":
                current.finder = shlex.split(rest)
            elif key == "in":
                edit = (rest.strip(), [], [])
                current.edits.append(edit)
            elif key == "-":
                edit[1].append(rest.strip())
            elif key == "+":
                edit[2].append(rest)
            else:
                sys.exit(f"{path}:{number}: what is '{key}'?")
    return mutants


def change(text, old, new, where):
    """The text with the lines `old`, wherever they begin, replaced; they must be there exactly once."""
    lines = text.split("\n")
    places = [i for i in range(len(lines) - len(old) + 1)
              if [line.strip() for line in lines[i:i + len(old)]] == old]
    if len(places) != 1:
        raise LookupError(f"{where}: {len(places)} places with:\n  " + "\n  ".join(old))
    i = places[0]
    return "\n".join(lines[:i] + new + lines[i + len(old):])


def changed_files(mutant):
    """The texts of the files that the bug is in, by their names."""
    files = {}
    for source, old, new in mutant.edits:
        if source not in files:
            with open(os.path.join(ROOT, source), encoding="utf-8") as f:
                files[source] = f.read()
        files[source] = change(files[source], old, new, f"{mutant.name}, {source}")
    return files


def misfits(mutants):
    """Bugs whose lines have gone, each with a text; the tree moves on, and nobody plants all of them every day."""
    for m in mutants:
        try:
            changed_files(m)
        except (LookupError, OSError) as e:
            yield m, str(e)


class Build:
    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        with open(os.path.join(self.directory, "compile_commands.json"), encoding="utf-8") as f:
            entries = json.load(f)
        self.compile = {os.path.realpath(os.path.join(e["directory"], e["file"])): e for e in entries}

    def object(self, source, changed, target):
        entry = self.compile[os.path.realpath(os.path.join(ROOT, source))]
        args = shlex.split(entry["command"])
        args[args.index("-o") + 1] = target
        at = args.index("-c") + 1
        args[at] = changed
        args += ["-iquote", os.path.dirname(os.path.join(ROOT, source)), "-w"]
        for flag in ("-MF", "-MQ"):
            if flag in args:
                args[args.index(flag) + 1] = target + ".d"
        subprocess.run(args, cwd=self.directory, check=True)

    def link(self, program, objects, target):
        commands = subprocess.run(["ninja", "-C", self.directory, "-t", "commands", program], check=True,
                                  capture_output=True, text=True).stdout.strip().split("\n")
        subprocess.run(["ninja", "-C", self.directory, program], check=True, capture_output=True)
        args = shlex.split(commands[-1])
        at = args.index("-o") + 1
        args[at] = target
        subprocess.run(args[:at + 1] + objects + args[at + 1:], cwd=self.directory, check=True)

    def plant(self, mutant, directory):
        """The finder's program with the bug in it."""
        program, objects = mutant.finder[0], []
        for n, (source, text) in enumerate(changed_files(mutant).items()):
            changed = os.path.join(directory, f"{n}_{os.path.basename(source)}")
            with open(changed, "w", encoding="utf-8") as f:
                f.write(text)
            objects.append(changed[:-2] + ".o")
            self.object(source, changed, objects[-1])
        target = os.path.join(directory, os.path.basename(program))
        self.link(program, objects, target)
        return target


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "timeout")


def seeds_of(finder):
    first, last = finder[finder.index("--seeds") + 1].split("..")
    return int(last) - int(first) + 1


def find_by_sim(program, mutant, options):
    """How the simulator fares: (found, text)."""
    args = mutant.finder[1:] + ["--jobs", str(options.jobs)] + ([] if options.count else ["--first"])
    result = run([program, *args])
    failures = [line for line in result.stdout.splitlines() if line.startswith("FAIL ")]
    if not failures:
        return False, result.stdout[-500:] + result.stderr[-500:]
    checks = sorted({re.search(r"check=(\w+)", line).group(1) for line in failures})
    if options.count:
        return True, f"{len(failures)} of {seeds_of(mutant.finder)} seeds: {' '.join(checks)}"
    command = shlex.split(re.search(r"reproduce: build/sim (.*)$", failures[0]).group(1))
    again = run([program, *command]).stdout.splitlines()
    if again[-1:] != failures[:1]:
        return False, f"not reproduced: {failures[0]}\n{again[-1:]}"
    return True, f"seed {re.search(r'seed=([0-9]+)', failures[0]).group(1)}: {' '.join(checks)}"


def find_by_test(program, mutant):
    result = run([program, *mutant.finder[1:]])
    failures = re.findall(r"^not ok \d+ - (\S+)", result.stdout, re.M)
    found = result.returncode != 0
    return found, " ".join(failures[:4]) if found else result.stdout[-500:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--only")
    parser.add_argument("--often", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    mutants = read_table(TABLE)
    stale = list(misfits(mutants))
    for m, text in stale:
        print(f"not ok - {m.name} can be planted: {text}")
    if options.only:
        mutants = [m for m in mutants if m.name in options.only.split(",")]
    if options.often:
        mutants = [m for m in mutants if m.is_often]
    if options.list:
        for m in mutants:
            print(f"{m.name}: {m.text}")
        return
    if not mutants:
        sys.exit("there is no such bug")
    build, missed = Build(options.build), 0
    for m in mutants:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            try:
                program = build.plant(m, directory)
                is_sim = os.path.basename(m.finder[0]) == "sim"
                found, text = find_by_sim(program, m, options) if is_sim else find_by_test(program, m)
            except (LookupError, subprocess.CalledProcessError) as e:
                found, text = False, f"it cannot be planted: {e}"
        missed += not found
        seconds = time.monotonic() - began
        print(f"{'ok' if found else 'not ok'} - {m.name} is found by {os.path.basename(m.finder[0])} "
              f"({seconds:.0f} s): {text}", flush=True)
    unasked = len([m for m, _ in stale if m not in mutants])
    print(f"{len(mutants) - missed} passed, {missed + unasked} failed")
    sys.exit(1 if missed + unasked else 0)


if __name__ == "__main__":
    main()
