#!/usr/bin/env python3
"""Prints the planted bugs of test/sim/mutants.txt as a Markdown table: what each one changes, and which test must find it.

usage: tools/mutant_table.py

The table is printed, not committed: mutants.txt is the only copy.
"""
import shlex
import sys

sys.dont_write_bytecode = True
import mutate  # noqa: E402


def table_row(mutant):
    cells = (f"`{mutant.name}`", mutant.text, ", ".join(f"`{source}`" for source, _, _ in mutant.edits),
             f"`{shlex.join(mutant.finder)}`", "yes" if mutant.is_often else "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main():
    mutants = mutate.read_table(mutate.TABLE)
    print("| bug | what goes wrong | where | what must find it | in `make test` |")
    print("|---|---|---|---|---|")
    for mutant in mutants:
        print(table_row(mutant))


if __name__ == "__main__":
    main()
