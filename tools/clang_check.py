"""Compiles our sources with the second compiler, clang, and each header alone. Writes nothing.

    python3 tools/clang_check.py BUILD_DIR

Takes the commands from BUILD_DIR/compile_commands.json. Exit 1 when clang warns about anything.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What only gcc is asked for (see meson.build), and what belongs to making an object file.
DROPPED = {"-c", "-MD", "-ftrivial-auto-var-init=zero", "-Wcast-qual"}
DROPPED_WITH_VALUE = {"-o", "-MQ", "-MF"}


def is_ours(path):
    return path.startswith((os.path.join(ROOT, "src") + os.sep, os.path.join(ROOT, "test") + os.sep))


def clang_command(entry, source):
    """The arguments of gcc for entry's file, for a syntax check of `source` instead."""
    words = shlex.split(entry["command"])
    while os.path.basename(words[0]) in ("ccache", "env"):
        words.pop(0)
    out = ["clang", "-fsyntax-only", "-Werror", "-Wno-unknown-warning-option"]
    skip_next = False
    for word in words[1:]:
        if skip_next:
            skip_next = False
        elif word in DROPPED_WITH_VALUE:
            skip_next = True
        elif word not in DROPPED and os.path.normpath(os.path.join(entry["directory"], word)) != entry["path"]:
            out.append(word)
    if source.endswith(".c"):
        return out + ["-fno-color-diagnostics", source]
    return out + ["-fno-color-diagnostics", "-x", "c", "-include", source, os.devnull]


def jobs(entries):
    """(what, command, directory) for every source, and for every header beside one."""
    headers = {}
    for entry in entries:
        yield entry["path"], clang_command(entry, entry["path"]), entry["directory"]
        folder = os.path.dirname(entry["path"])
        for name in os.listdir(folder):
            if name.endswith(".h") and name != "banned.h":
                headers.setdefault(os.path.join(folder, name), entry)
    for header, entry in headers.items():
        yield header, clang_command(entry, header), entry["directory"]


def run(job):
    what, command, directory = job
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return what, result.returncode, result.stderr


def main(build_dir):
    with open(os.path.join(build_dir, "compile_commands.json"), encoding="utf-8") as commands:
        entries = json.load(commands)
    ours = {}
    for entry in entries:
        entry["path"] = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        if is_ours(entry["path"]):
            ours.setdefault(entry["path"], entry)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, jobs(ours.values())))
    for what, status, text in results:
        if status != 0:
            failed += 1
            print(f"{os.path.relpath(what, ROOT)}:\n{text}")
    print(f"clang: {len(results)} files, {failed} with warnings")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
