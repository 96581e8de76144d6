"""testlog.json of `meson test` -> a line for each suite, and last a line `N passed, M failed`.

A test that was skipped is named and counts as neither. No result at all counts as a failure.
"""
import json
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}


def cases_in(test):
    """How many cases the test ran: what node's runner counted, or its TAP lines, or 1."""
    output = test.get("stdout") or ""
    counted = re.findall(r"^# tests (\d+)$", output, re.MULTILINE)
    if counted:
        return sum(map(int, counted))
    return len(re.findall(r"^(?:ok|not ok)\b", output, re.MULTILINE)) or 1


def suite_of(test):
    # Meson writes "project:suite+suite / name".
    return test["name"].partition(" / ")[0].rpartition(":")[2] if " / " in test["name"] else "other"


def main(paths):
    suites = {}
    failed_names = []
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                test = json.loads(line)
                row = suites.setdefault(suite_of(test), {"passed": 0, "failed": 0, "skipped": 0, "cases": 0, "s": 0})
                row["cases"] += cases_in(test)
                row["s"] += test["duration"]
                if test["result"] in PASSED:
                    row["passed"] += 1
                elif test["result"] in SKIPPED:
                    row["skipped"] += 1
                else:
                    row["failed"] += 1
                    failed_names.append(f'{test["name"]} ({test["result"]})')

    print(f'\n{"suite":<14}{"passed":>8}{"failed":>8}{"skipped":>9}{"cases":>8}{"seconds":>9}')
    for name, row in sorted(suites.items()):
        print(f'{name:<14}{row["passed"]:>8}{row["failed"]:>8}{row["skipped"]:>9}{row["cases"]:>8}{row["s"]:>9.1f}')
    for name in failed_names:
        print(f"failed: {name}")
    passed = sum(row["passed"] for row in suites.values())
    failed = sum(row["failed"] for row in suites.values())
    if not suites:
        failed = 1
        print("failed: no test ran")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
