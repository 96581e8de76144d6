#!/usr/bin/env python3
"""Runs the program of harness_cases.c and checks what the harness makes of each case.

Usage: test_harness.py PROGRAM
"""

import subprocess
import sys
import unittest


class HarnessTest(unittest.TestCase):
    program = None

    def run_cases(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_everything(self):
        code, lines, _ = self.run_cases()
        self.assertEqual(1, code)
        self.assertEqual([
            "ok 1 - good_one",
            "ok 2 - good_needs_memory",
            "not ok 3 - bad_condition",
            "not ok 4 - bad_number",
            "not ok 5 - bad_text",
            "not ok 6 - bad_null_text",
            "not ok 7 - bad_without_check",
            "not ok 8 - bad_required",
            "1..8",
        ], [line for line in lines if not line.startswith("#")])

    def said_by(self, case):
        _, lines, _ = self.run_cases("--filter", case)
        return "\n".join(line for line in lines if line.startswith("#"))

    def test_both_values_are_shown(self):
        self.assertIn("not true: 1 > 2", self.said_by("bad_condition"))
        self.assertIn("INT64_MIN is -9223372036854775808, not 7", self.said_by("bad_number"))
        self.assertIn(r'is "got\x0a" (4 bytes), not "want" (4 bytes)', self.said_by("bad_text"))
        self.assertIn('is (null), not "" (0 bytes)', self.said_by("bad_null_text"))
        self.assertIn("executed no check", self.said_by("bad_without_check"))
        self.assertNotIn("reached", self.said_by("bad_required"))

    def test_filter(self):
        code, lines, _ = self.run_cases("--filter", "good")
        self.assertEqual((0, ["ok 1 - good_one", "ok 2 - good_needs_memory", "1..2", "# 2 passed, 0 failed"]), (code, lines))

    def test_filter_that_matches_nothing_fails(self):
        code, lines, _ = self.run_cases("--filter", "nothing")
        self.assertEqual((1, "# 0 passed, 0 failed"), (code, lines[-1]))

    def test_list(self):
        code, lines, _ = self.run_cases("--list", "--filter", "good")
        self.assertEqual((0, ["good_one", "good_needs_memory"]), (code, lines))

    def test_torture(self):
        code, lines, _ = self.run_cases("--torture", "--filter", "good")
        self.assertEqual(0, code)
        self.assertIn("# good_one: 0 failing allocations survived", lines)
        self.assertIn("# good_needs_memory: 2 failing allocations survived", lines)
        self.assertEqual("# 2 passed, 0 failed", lines[-1])

    def test_torture_does_not_excuse(self):
        code, lines, _ = self.run_cases("--torture", "--filter", "bad")
        self.assertEqual((1, "# 0 passed, 6 failed"), (code, lines[-1]))

    def test_unknown_option(self):
        for arguments in (["--what"], ["--filter"], ["word"]):
            code, lines, errors = self.run_cases(*arguments)
            self.assertEqual((2, []), (code, lines))
            self.assertIn("usage:", errors)


if __name__ == "__main__":
    HarnessTest.program = sys.argv.pop()
    unittest.main()
