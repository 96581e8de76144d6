"""*.proto -> names.h: EVENT_TYPE_TIMER_FIRED for protobuf-c's E__EVENT_TYPE__EVENT_TYPE_TIMER_FIRED."""
import os
import re
import sys


def upper_snake(camel):
    """protobuf-c's own rule: an underscore before each upper-case letter that follows a lower-case one."""
    out = ""
    was_upper = True
    for ch in camel:
        if ch.isupper():
            if not was_upper:
                out += "_"
            was_upper = True
        else:
            was_upper = False
        out += ch.upper()
    return out


def names(source):
    """The lines for the enums of one file; its c_package comes before them."""
    package = enum = None
    stem = os.path.splitext(os.path.basename(source))[0]
    yield f'#include "{stem}.pb-c.h"'
    for line in open(source, encoding="utf-8"):
        if m := re.match(r'option \(pb_c_file\).c_package = "(\w+)"', line):
            package = m[1].upper()
        elif m := re.match(r"enum (\w+) {", line):
            enum = upper_snake(m[1])
        elif m := re.match(r"\s+([A-Z]\w+) = -?\d+", line):
            yield f"#define {m[1]} {package}__{enum}__{m[1]}"


def main(sources, target):
    lines = ["/* Made by tools/enum_names.py. */", "#pragma once"]
    for source in sources:
        lines += names(source)
    with open(target, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


main(sys.argv[1:-1], sys.argv[-1])
