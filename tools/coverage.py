#!/usr/bin/env python3
"""Which conditions of the sources the tests have seen both ways.

usage: tools/coverage.py BUILD [--no-run] [--show PATH]

BUILD is made with clang's source-based coverage (`make coverage` does all of this). Runs the suites below in it and
some worlds of the simulator, then prints the lines and branches of each folder of src, and every branch of HELD that
nothing took and test/coverage/unreached.txt does not explain. Exit 1 when there is one, when an explanation fits
nothing any more, when a folder of HELD is below PERCENT_MIN, or when a test failed.

A branch is one side, true or false, of one condition as it is written; `a && b` are two conditions, and so are two
cases of a switch. Two kinds are left out by rule and only counted:
- what ensure() and ensure_inv() ask, since the other side is a bug that ends the process;
- "none of the cases" of a switch over an enum, which has no default because it names every value.

--no-run    looks at what the last run left
--show PATH lists the branches below PATH, e.g. src/engine, that nothing took, whatever the folder
"""
import argparse
import collections
import functools
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join("test", "coverage", "unreached.txt")
HELD = ("src/cal", "src/core", "src/wire")
PERCENT_MIN = 95
SUITES = ("unit", "torture", "fuzz-corpus")
WORLDS = (["--seeds", "1..48", "--steps", "3000"], ["--seeds", "1..2", "--profile", "years", "--days", "30"])
EXPANSION = 1  # llvm's number for a region that stands for a macro
SIDES = ("true", "false")
RULES = {"ensure": "of ensure()", "enum": "'none of the cases' of a switch that names every value of its enum"}
ENTRY = re.compile(r"(\S+) (\w+) `([^`]+)`(?:#(\d+))? (true|false|both)\s+(\S.*)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--show", metavar="PATH")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    has_passed = options.no_run or run_tests(build)
    report = export(build)
    conditions = read_conditions(report, build)
    if options.show:
        show(conditions, options.show)
        return 0
    entries, problems = read_entries(os.path.join(ROOT, TABLE))
    print_folders(report, conditions, build)
    problems += print_unreached(conditions, entries)
    problems += low_folders(conditions)
    for problem in problems:
        print(problem)
    if not has_passed:
        print("a test failed: its output is above")
    return 1 if problems or not has_passed else 0


# running

def profiles_of(build):
    return os.path.join(build, "profiles")


def run_tests(build):
    """Whether all passed. Programs add their counts to one file for each program, also when several run at once."""
    shutil.rmtree(profiles_of(build), ignore_errors=True)
    env = dict(os.environ, LLVM_PROFILE_FILE=os.path.join(profiles_of(build), "%m.profraw"))
    suites = [word for suite in SUITES for word in ("--suite", suite)]
    commands = [["meson", "test", "-C", build, "--no-rebuild", "--quiet", "--print-errorlogs", *suites]]
    commands += [[os.path.join(build, "sim"), *world, "--jobs", str(os.cpu_count())] for world in WORLDS]
    results = [subprocess.run(command, env=env, check=False).returncode for command in commands]
    return not any(results)


def export(build):
    """What llvm-cov knows about everything in src."""
    raw = sorted(walk(profiles_of(build), ".profraw"))
    if not raw:
        sys.exit(f"coverage: no counts in {profiles_of(build)}: run the tests first")
    merged = os.path.join(build, "coverage.profdata")
    subprocess.run(["llvm-profdata", "merge", "--sparse", "-o", merged, *raw], check=True)
    objects = sorted(walk(os.path.join(build, "src"), ".o"))
    command = ["llvm-cov", "export", "--instr-profile", merged, objects[0]]
    command += [word for path in objects[1:] for word in ("--object", path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["data"][0]


def walk(directory, suffix):
    for folder, _, names in os.walk(directory):
        yield from (os.path.join(folder, name) for name in names if name.endswith(suffix))


# reading

Place = collections.namedtuple("Place", "path line column end_line end_column")


class Condition:
    """One condition in one function, and how often it was true and false."""

    def __init__(self, place, function, text):
        self.place = place
        self.function = function
        self.text = text
        self.nth = None  # among those with this text in this function, from 1, when there are several
        self.counts = [0, 0]
        self.rule = None  # why it is left out

    @property
    def key(self):
        return self.place.path, self.function, self.text, self.nth

    def missing(self):
        return [side for side, count in zip(SIDES, self.counts) if count == 0]


@functools.cache
def lines_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read().split("\n")


def text_between(place):
    """What is written there, on one line. Columns count bytes, which our sources make the same as letters."""
    lines = lines_of(place.path)[place.line - 1:place.end_line]
    lines[-1] = lines[-1][:place.end_column - 1]
    lines[0] = lines[0][place.column - 1:]
    return " ".join(" ".join(lines).split())


def call_place(place):
    """The place of a macro's name, with its arguments."""
    line, depth = place.end_line, 0
    column = place.end_column
    while line <= len(lines_of(place.path)):
        for at, letter in enumerate(lines_of(place.path)[line - 1][column - 1:], column):
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                has_arguments = letter == ")"
                return place._replace(end_line=line, end_column=at + 1) if has_arguments else place
        line, column = line + 1, 1
    return place


class Function:
    """A function of the report. Its files are where it is written, and one more for each macro that it expands."""

    def __init__(self, record, build):
        self.name = record["name"].rpartition(":")[2]
        self.paths = [os.path.relpath(os.path.realpath(os.path.join(build, name)), ROOT)
                      for name in record["filenames"]]
        self.branches = record["branches"]
        self.expansions = {region[6]: region for region in record["regions"] if region[7] == EXPANSION}

    def outer_macro(self, file_id):
        macro = None
        while file_id in self.expansions:
            macro = self.expansions[file_id]
            file_id = macro[5]
        return macro

    def conditions(self):
        """(place, which of those there, counts) of each branch; the place is where a reader finds it."""
        seen = collections.Counter()
        for branch in self.branches:
            macro = self.outer_macro(branch[6])
            if macro:
                place = call_place(Place(self.paths[macro[5]], *macro[:4]))
            else:
                place = Place(self.paths[branch[6]], *branch[:4])
            seen[place] += 1
            yield place, seen[place], branch[4:6]


def read_conditions(report, build):
    """All conditions of src, in the order of the sources. A function of a header is in the report once for each
    object that has it, so counts are added."""
    found = {}
    for record in report["functions"]:
        function = Function(record, build)
        for place, nth, counts in function.conditions():
            if place.path.startswith("src/"):
                c = found.setdefault((place, nth), Condition(place, function.name, text_between(place)))
                c.counts = [a + b for a, b in zip(c.counts, counts)]
    conditions = [found[key] for key in sorted(found)]
    number_equals(conditions)
    for c, following in zip(conditions, conditions[1:] + [None]):
        c.rule = rule_of(c, following)
    return conditions


def number_equals(conditions):
    groups = collections.defaultdict(list)
    for c in conditions:
        groups[c.key].append(c)
    for group in groups.values():
        if len(group) > 1:
            for number, c in enumerate(group, 1):
                c.nth = number


def rule_of(c, following):
    """Which rule leaves the condition out, if any does. `following` is the next condition of the file."""
    if re.match(r"ensure(_inv)?\(", c.text):
        return "ensure"
    before = lines_of(c.place.path)[c.place.line - 1][:c.place.column - 1]
    is_enum = following is not None and re.match(r"case [A-Z]\w+$", following.text)
    return "enum" if before.endswith("switch (") and is_enum and c.counts[0] == 0 else None


# explaining

class Entry:
    def __init__(self, number, match):
        self.number = number
        path, function, text, nth, self.side, self.why = match.groups()
        self.key = path, function, text, int(nth) if nth else None
        self.is_used = False


def read_entries(path):
    """(entries by key, problems)"""
    entries, problems = collections.defaultdict(list), []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            match = ENTRY.fullmatch(line.strip())
            if match:
                entry = Entry(number, match)
                entries[entry.key].append(entry)
            else:
                problems.append(f"{TABLE}:{number}: cannot be read")
    return entries, problems


def is_explained(c, side, entries):
    fitting = [e for e in entries[c.key] if e.side in (side, "both")]
    for entry in fitting:
        entry.is_used = True
    return bool(fitting)


# telling

def folder_of(path):
    return "/".join(path.split("/")[:2])


def print_folders(report, conditions, build):
    lines = collections.defaultdict(lambda: [0, 0])
    for record in report["files"]:
        path = os.path.relpath(os.path.realpath(os.path.join(build, record["filename"])), ROOT)
        if path.startswith("src/"):
            summary = record["summary"]["lines"]
            row = lines[folder_of(path)]
            row[0] += summary["covered"]
            row[1] += summary["count"]
    branches = branches_of(conditions)
    print(f"{'folder':14}{'lines':>8}{'seen':>8}{'':>9}{'branches':>10}{'taken':>8}")
    for folder in sorted(lines):
        print(f"{folder:14}{row_text(lines[folder], 8)}  {row_text(branches[folder], 8)}")
    for rule, text in RULES.items():
        count = sum(1 for c in conditions if c.rule == rule and folder_of(c.place.path) in HELD)
        print(f"left out in {', '.join(HELD)}: {count} conditions {text}")


def row_text(row, width):
    covered, count = row
    return f"{count:>{width}}{covered:>{width}}{percent(row):>8.2f} %"


def percent(row):
    return 100 * row[0] / row[1] if row[1] else 100


def branches_of(conditions):
    """[taken, all] by folder"""
    folders = collections.defaultdict(lambda: [0, 0])
    for c in conditions:
        if not c.rule:
            row = folders[folder_of(c.place.path)]
            row[0] += 2 - len(c.missing())
            row[1] += 2
    return folders


def print_unreached(conditions, entries):
    explained, problems = 0, []
    for c in conditions:
        if c.rule or folder_of(c.place.path) not in HELD:
            continue
        for side in c.missing():
            if is_explained(c, side, entries):
                explained += 1
            else:
                problems.append(line_of(c, side))
    print(f"never taken: {explained + len(problems)}, of which {TABLE} explains {explained}")
    for entry in (e for group in entries.values() for e in group if not e.is_used):
        problems.append(f"{TABLE}:{entry.number}: fits nothing that is never taken")
    return problems


def line_of(c, side):
    nth = f"#{c.nth}" if c.nth else ""
    return f"{c.place.path}:{c.place.line}: {c.function} `{c.text}`{nth} {side}"


def low_folders(conditions):
    for folder, row in sorted(branches_of(conditions).items()):
        if folder in HELD and percent(row) < PERCENT_MIN:
            yield f"{folder}: {percent(row):.2f} % of its branches were taken, fewer than {PERCENT_MIN}"


def show(conditions, path):
    for c in conditions:
        if not c.rule and (c.place.path + "/").startswith(path.rstrip("/") + "/"):
            for side in c.missing():
                print(line_of(c, side))


if __name__ == "__main__":
    sys.exit(main())
