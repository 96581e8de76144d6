#!/usr/bin/env python3
"""Writes the system's time zones as a C file, for a server on a machine without them.

    python3 tools/embed_tz.py ZONEINFO_DIR OUTPUT.c

Each file is made small first: the 32-bit block goes, and so do the transitions that the rule in the footer repeats.
Names that are links share their bytes. Fails when the directory has no zones.
"""
import datetime
import os
import re
import struct
import sys

HEADER = struct.Struct(">4sc15s6I")
SKIPPED = ("posix", "right")


def read_block(data, at, time_format):
    """The counts, the transitions, and the rest of one block; and where it ends."""
    fields = HEADER.unpack_from(data, at)
    at += HEADER.size
    ut_count, std_count, leap_count, time_count, type_count, char_count = fields[3:]
    size = struct.calcsize(">" + time_format)
    times = list(struct.unpack_from(f">{time_count}{time_format}", data, at))
    at += time_count * size
    indices = list(data[at:at + time_count])
    at += time_count
    types = data[at:at + type_count * 6]
    at += type_count * 6
    chars = data[at:at + char_count]
    at += char_count + leap_count * (size + 4) + std_count + ut_count
    return times, indices, types, chars, leap_count, at


RULE = re.compile(r"^(?:<[^>]+>|[A-Za-z]+)([-+\d:]+)(?:<[^>]+>|[A-Za-z]+)([-+\d:]*),([^,]+),([^,]+)$")


def seconds(text):
    sign = -1 if text.startswith("-") else 1
    parts = [int(p) for p in text.lstrip("+-").split(":")] + [0, 0]
    return sign * (parts[0] * 3600 + parts[1] * 60 + parts[2])


def change_time(rule, year):
    """When a change of the footer comes, in seconds of the local clock before it. Only the M form is used by files."""
    day, _, time = rule.partition("/")
    month, week, weekday = (int(n) for n in day[1:].split("."))
    first = datetime.date(year, month, 1)
    days = (weekday - first.isoweekday()) % 7 + (week - 1) * 7
    length = ((datetime.date(year + month // 12, month % 12 + 1, 1)) - first).days
    while days >= length:
        days -= 7
    return (first.toordinal() - 719163 + days) * 86400 + (seconds(time) if time else 7200)


def predicted(footer, first_year, last_year):
    """(time, offset, is summer time) of the changes that the footer makes in these years, in order."""
    match = RULE.match(footer)
    if not match or not (match.group(3).startswith("M") and match.group(4).startswith("M")):
        return []
    standard = -seconds(match.group(1))
    summer = -seconds(match.group(2)) if match.group(2) else standard + 3600
    out = []
    for year in range(first_year, last_year + 1):
        out.append((change_time(match.group(3), year) - standard, summer, 1))
        out.append((change_time(match.group(4), year) - summer, standard, 0))
    return sorted(out)


def count_needed(changes, rule):
    """How many of the changes a file must keep: all but those at the end that the rule repeats without a gap. The first
    of these stays, so that the rule has something to go on from."""
    n, at = len(changes), rule.index(changes[-1]) if changes and changes[-1] in rule else 0
    while n > 1 and at > 0 and changes[n - 1] == rule[at] and changes[n - 2] == rule[at - 1]:
        n, at = n - 1, at - 1
    return n


def slim(data):
    """The same zone in as few bytes as the format allows without losing anything."""
    *_, leap_count, at = read_block(data, 0, "l")
    if leap_count or data[4:5] < b"2":
        return None
    times, indices, types, chars, _, at = read_block(data, at, "q")
    footer = data[at + 1:data.index(b"\n", at + 1)].decode()
    kinds = [struct.unpack_from(">lB", types, 6 * i) for i in range(len(types) // 6)]
    needed = count_needed([(t, *kinds[i]) for t, i in zip(times, indices)], predicted(footer, 1970, 2040))
    times, indices = times[:needed], indices[:needed]
    empty = HEADER.pack(b"TZif", b"2", bytes(15), 0, 0, 0, 0, 1, 1) + bytes(6) + b"\0"
    head = HEADER.pack(b"TZif", data[4:5], bytes(15), 0, 0, 0, len(times), len(types) // 6, len(chars))
    return (empty + head + struct.pack(f">{len(times)}q", *times) + bytes(indices) + types + chars
            + b"\n" + footer.encode() + b"\n")


def zones(directory):
    """(name, bytes), in order of name."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(f for f in folders if os.path.relpath(os.path.join(folder, f), directory) not in SKIPPED)
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                data = f.read()
            small = slim(data) if data.startswith(b"TZif") else None
            if small and name not in ("localtime", "posixrules"):
                yield os.path.relpath(path, directory), small


def version(directory):
    try:
        with open(os.path.join(directory, "tzdata.zi"), encoding="utf-8") as f:
            return f.readline().removeprefix("# version").strip()
    except OSError:
        return "unknown"


def write(out, directory):
    table, data, offsets = [], bytearray(), {}
    for name, content in sorted(zones(directory), key=lambda z: z[0].encode()):
        if content not in offsets:
            offsets[content] = len(data)
            data += content
        table.append((name, offsets[content], len(content)))
    if not table:
        sys.exit(f"embed_tz: {directory} has no time zones; install tzdata")
    out.write("/* Made by tools/embed_tz.py. */\n#include \"host/zoneinfo_int.h\"\n\n")
    out.write(f"const char zoneinfo_version[] = \"{version(directory)}\";\n")
    out.write(f"const size_t zoneinfo_builtin_count = {len(table)};\n")
    out.write("const struct zoneinfo_builtin zoneinfo_builtins[] = {\n")
    out.writelines(f"    {{\"{name}\", {offset}, {size}}},\n" for name, offset, size in table)
    out.write("};\nconst unsigned char zoneinfo_bytes[] = {\n")
    for at in range(0, len(data), 32):
        out.write("".join(f"{b}," for b in data[at:at + 32]) + "\n")
    out.write("};\n")


def main(arguments):
    directory, output = arguments[1:]
    with open(output, "w", encoding="ascii") as out:
        write(out, directory)


if __name__ == "__main__":
    main(sys.argv)
