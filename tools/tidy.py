#!/usr/bin/env python3
"""Checks the C sources against the rules of the house.

Usage: tidy.py [ROOT]

The layers are the table of ROOT/ARCHITECTURE.md; the owners of third-party headers, the layers
whose names are checked and the allowed writable statics are listed in ROOT/tools/layers.txt;
the limits are below. Prints one line for each
finding, `file:line: rule: text`, then how many files were checked, and exits 1 when
a finding is more than a warning.

C is not parsed. Comments, strings and preprocessor lines are blanked out first, which
leaves braces, semicolons and names in their places; the rules look at those.
"""

import fnmatch
import os
import re
import sys
from dataclasses import dataclass, field

FILE_LINES_MAX = 1500
FILE_LINES_WARN = 900
FUNCTION_LINES_MAX = 100

CHECKED_DIRS = ("src", "test", "include")
C_SUFFIXES = (".c", ".h")
TEXT_SUFFIXES = C_SUFFIXES + (".def", ".proto", ".py", ".sh", ".ts", ".mjs", ".js")
SKIPPED_DIRS = ("node_modules", "corpus", "__pycache__")

# The file that names what may not be called.
BAN_LIST = "src/base/banned.h"
# Split, so that this file passes its own check.
UNFINISHED_WORDS = ("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")
UNFINISHED = re.compile(r"\b(%s)\b" % "|".join(UNFINISHED_WORDS))
BANNER = re.compile(r"^\s*(/\*|//|\*)\s*([-=#~_+*/])\2{2,}")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)|\b_?[aA]lignas\s*\([^)]*\)", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
COMMENT_OR_LITERAL = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    text: str
    is_warning: bool = False

    def __str__(self):
        mark = "warning: " if self.is_warning else ""
        return f"{self.path}:{self.line}: {self.rule}: {mark}{self.text}"


@dataclass
class Rules:
    layers: dict = field(default_factory=dict)  # layer -> entries it may include
    headers: dict = field(default_factory=dict)  # pattern -> owning directories
    calls: dict = field(default_factory=dict)  # function -> owning directories
    statics: dict = field(default_factory=dict)  # (path, name) -> reason
    named: list = field(default_factory=list)  # layers whose static functions must have names of their own


LAYER_ROW = re.compile(r"^\| `src/(\w+)` \|[^|]*\| ([^|]*) \|$", re.MULTILINE)


def parse_layers(document):
    """layer -> what it may include, from the table of ARCHITECTURE.md. Words without backticks are libraries."""
    return {layer: re.findall(r"`([^`]+)`", entries) for layer, entries in LAYER_ROW.findall(document)}


def parse_rules(text, document):
    rules = Rules(layers=parse_layers(document))
    if not rules.layers:
        raise ValueError("ARCHITECTURE.md: no table of layers")
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        subject, colon, words = line.partition(":")
        kind, *names = subject.split()
        if not colon or not add_rule(rules, kind, names, words.strip()):
            raise ValueError(f"layers.txt:{number}: cannot read: {line}")
    return rules


def add_rule(rules, kind, names, words):
    if kind == "static" and len(names) == 2 and words:
        rules.statics[tuple(names)] = words
        return True
    if kind == "names" and not names:
        rules.named = words.split()
        return True
    tables = {"header": rules.headers, "call": rules.calls}
    if kind not in tables or len(names) != 1:
        return False
    tables[kind][names[0]] = words.split()
    return True


def blank(match):
    """The same number of characters and lines, with nothing in them."""
    return re.sub(r"[^\n]", " ", match.group())


def blank_literal(match):
    """A string keeps its quotes: that something stood there can matter."""
    text = match.group()
    if text[0] == "/":
        return blank(match)
    return text[0] + " " * (len(text) - 2) + text[-1]


class Source:
    """One file: its path from the root, its text, and its text without the parts that only people read."""

    def __init__(self, root, path, text):
        self.root = root
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.is_c = path.endswith(C_SUFFIXES)
        if self.is_c:
            self.code = DIRECTIVE.sub(blank, COMMENT_OR_LITERAL.sub(blank_literal, text))

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def includes(self):
        """(line, is quoted, name) of each include."""
        text = COMMENT.sub(blank, self.text)
        return [(self.line_at(m.start(1)), m.group(1) == '"', m.group(2)) for m in INCLUDE.finditer(text)]

    @property
    def src_path(self):
        """The path below src/, or None for a file elsewhere."""
        return self.path[len("src/"):] if self.path.startswith("src/") else None

    @property
    def layer(self):
        inside = self.src_path
        return inside.split("/")[0] if inside and "/" in inside else None

    def finding(self, line, rule, text, is_warning=False):
        return Finding(self.path, line, rule, text, is_warning)


def is_owner(source, directories):
    return any(source.src_path == d or source.src_path.startswith(d + "/") for d in directories)


def may_include(rules, layer, target):
    if target.split("/")[0] == layer:
        return True
    for entry in rules.layers[layer]:
        pattern = entry if "/" in entry else entry + "/*"
        if entry == "*" or fnmatch.fnmatchcase(target, pattern):
            return True
    return False


def check_layers(source, rules):
    if not source.src_path:
        return
    if source.layer not in rules.layers:
        yield source.finding(1, "layer", "its directory is not in the table of layers in ARCHITECTURE.md")
        return
    for line, is_quoted, name in source.includes():
        if is_quoted:
            text = layer_problem(source, rules, name)
            if text:
                yield source.finding(line, "layer", text)


def layer_problem(source, rules, name):
    def exists(*parts):
        return os.path.exists(os.path.join(source.root, *parts))

    if name in rules.layers[source.layer]:
        return None
    if name.startswith(("test/", "../")) or (exists("test", name) and not exists("src", name)):
        return f'"{name}" leaves src/'
    if name.split("/")[0] in rules.layers:
        return None if may_include(rules, source.layer, name) else f'{source.layer} may not include "{name}"'
    if exists(os.path.dirname(source.path), name):
        return f'"{name}" is not named from src/'
    return None


def check_headers(source, rules):
    if not source.src_path:
        return
    for line, _, name in source.includes():
        for pattern, owners in rules.headers.items():
            if fnmatch.fnmatchcase(name, pattern) and not is_owner(source, owners):
                yield source.finding(line, "header", f"<{name}> belongs to {', '.join(owners)}")


def check_calls(source, rules):
    if not source.is_c or source.path == BAN_LIST:
        return
    for name, owners in rules.calls.items():
        allowed = is_owner(source, owners) if source.src_path else bool(owners)
        if allowed:
            continue
        for match in re.finditer(rf"(?<![\w.>]){name}\s*\(", source.code):
            where = f"only {', '.join(owners)} may" if owners else "nothing may"
            yield source.finding(source.line_at(match.start()), "call", f"{where} call {name}")


def check_length(source, _rules):
    count = len(source.lines)
    if not source.is_c or count <= FILE_LINES_WARN:
        return
    text = f"{count} lines, at most {FILE_LINES_MAX} and better below {FILE_LINES_WARN}"
    yield source.finding(count, "length", text, is_warning=count <= FILE_LINES_MAX)


def check_words(source, _rules):
    for number, line in enumerate(source.lines, 1):
        match = UNFINISHED.search(line)
        if match:
            yield source.finding(number, "unfinished", f"{match.group()} in the tree: finish it or file an issue")
        if source.is_c and BANNER.match(line):
            yield source.finding(number, "banner", "a line of punctuation says nothing")


def check_header_form(source, _rules):
    if source.path.endswith(".h") and not re.search(r"^#pragma once$", source.text, re.MULTILINE):
        yield source.finding(1, "pragma", "a header says #pragma once")


def check_own_header_first(source, _rules):
    if not source.src_path or not source.path.endswith(".c"):
        return
    own = source.src_path[:-2] + ".h"
    if not os.path.exists(os.path.join(source.root, "src", own)):
        return
    includes = source.includes()
    if not includes or includes[0][1:] != (True, own):
        line = includes[0][0] if includes else 1
        yield source.finding(line, "include", f'the first include is its own header, "{own}"')


@dataclass
class Declaration:
    """Text up to a semicolon or up to the end of a function's body, with each pair of braces emptied."""
    start: int
    end: int
    text: str
    is_function: bool


def matching_brace(code, at):
    depth = 0
    for i in range(at, len(code)):
        if code[i] == "{":
            depth += 1
        elif code[i] == "}":
            depth -= 1
            if depth == 0:
                return i
    return len(code) - 1


def read_declaration(code, at):
    """The declaration that begins at `at`, or None at the end of the code."""
    while at < len(code) and code[at] in " \t\n;}":
        at += 1
    if at >= len(code):
        return None
    start, text = at, ""
    while at < len(code) and code[at] != ";":
        if code[at] != "{":
            text += code[at]
            at += 1
            continue
        end = matching_brace(code, at)
        if is_signature(text):
            return Declaration(start, end, text, True)
        text += "{}"
        at = end + 1
    return Declaration(start, at, text, False)


def is_signature(text):
    """Whether a brace after this text opens the body of a function."""
    text = ATTRIBUTE.sub(" ", text).rstrip()
    return text.endswith(")") and not assigned_at(text)


def assigned_at(text):
    """Where the initial value begins in a declaration's text, or 0."""
    flat = re.sub(r"\(.*?\)|\[.*?\]", lambda m: " " * len(m.group()), text, flags=re.DOTALL)
    match = re.search(r"(?<![=<>!])=(?!=)", flat)
    return match.start() if match else 0


def top_declarations(code):
    at = 0
    while True:
        declaration = read_declaration(code, at)
        if declaration is None:
            return
        yield declaration
        at = declaration.end + 1


def function_name(text):
    match = re.search(r"([A-Za-z_]\w*)\s*\(", ATTRIBUTE.sub(" ", text))
    return match.group(1) if match else "?"


def check_function_length(source, _rules):
    if not source.is_c:
        return
    for declaration in top_declarations(source.code):
        if not declaration.is_function:
            continue
        first, last = source.line_at(declaration.start), source.line_at(declaration.end)
        if last - first + 1 > FUNCTION_LINES_MAX:
            text = f"{function_name(declaration.text)} has {last - first + 1} lines, at most {FUNCTION_LINES_MAX}"
            yield source.finding(first, "function", text)


def writable_variable(text):
    """The name of the variable that this declaration makes writable, or None."""
    text = ATTRIBUTE.sub(" ", text)
    value_at = assigned_at(text)
    declared = re.sub(r"\[[^\]]*\]", " ", text[:value_at] if value_at else text)
    if re.match(r"\s*(typedef|extern|_Static_assert|static_assert)\b", declared):
        return None
    pointer_to_function = re.match(r"[^(]*\(\s*\*\s*(const\b)?\s*(\w+)\s*\)\s*\(", declared)
    if pointer_to_function:
        return None if pointer_to_function.group(1) else pointer_to_function.group(2)
    if "(" in declared:
        return None
    return writable_object(declared)


def writable_object(declared):
    match = re.search(r"(\w+)\s*$", declared)
    before = declared[:match.start()] if match else ""
    if not before.strip() or re.fullmatch(r"\s*(struct|union|enum|\w+_fn)\s*", before):
        return None  # an expression, a forward declaration, a prototype by its function type
    deciding = before.rsplit("*", 1)[-1]
    return None if re.search(r"\bconst(expr)?\b", deciding) else match.group(1)


def inner_statics(declaration, code):
    """The static declarations inside a function."""
    for match in re.finditer(r"(?<=[;{}])\s*(static\b)", code[declaration.start:declaration.end]):
        yield read_declaration(code, declaration.start + match.start(1))


def check_statics(source, rules):
    if not source.is_c:
        return
    for outer in top_declarations(source.code):
        inner = inner_statics(outer, source.code) if outer.is_function else [outer]
        for declaration in inner:
            name = writable_variable(declaration.text)
            if name and (source.path, name) not in rules.statics:
                line = source.line_at(declaration.start)
                yield source.finding(line, "static", f"{name} is writable and outlives the call")


def cleaned_names(line):
    """The variables of a declaration that cleanup() frees and that have no value yet."""
    if not re.search(r"\bcleanup\(\w+\)", line) or "=" in line or not line.rstrip().endswith(";"):
        return []
    after = re.findall(r"(\w+)\s+cleanup\(\w+\)", line)
    return after or re.findall(r"(\w+)\s*[,;]", line)


def check_cleanup(source, _rules):
    """gcc is told to clear variables, clang is not: what cleanup() frees must have a value before any return."""
    if not source.is_c:
        return
    lines = source.code.split("\n")
    for number, line in enumerate(lines):
        for name in cleaned_names(line) if line.startswith(" ") else []:
            for later in lines[number + 1:]:
                if later.startswith("}") or re.search(rf"[(&,\s]{name}\s*=[^=]|\w\((.*,\s*)?&?{name}\b", later):
                    break
                if re.search(r"\breturn\b", later):
                    yield source.finding(number + 1, "cleanup", f"{name} has no value at the first return")
                    break


CHECKS = (
    check_layers,
    check_headers,
    check_calls,
    check_length,
    check_function_length,
    check_words,
    check_statics,
    check_cleanup,
    check_header_form,
    check_own_header_first,
)


def check_source(source, rules):
    return [finding for check in CHECKS for finding in check(source, rules)]


def find_sources(root):
    for top in CHECKED_DIRS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_DIRS and not f.startswith("."))
            for name in sorted(names):
                if name.endswith(TEXT_SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def unused_statics(rules, sources):
    """An allowance for a variable that is gone would hide the next one of that name."""
    for path, name in rules.statics:
        if not any(s.path == path and re.search(rf"\b{name}\b", s.code) for s in sources if s.is_c):
            yield Finding("tools/layers.txt", 1, "static", f"{path} has no {name}")


def static_functions(source):
    """(line, name) of each static function that the file defines."""
    for declaration in top_declarations(source.code):
        if declaration.is_function and re.match(r"static\b", declaration.text):
            yield source.line_at(declaration.start), function_name(declaration.text)


def unclear_names(rules, sources):
    """A backtrace or a breakpoint names a function. The name must lead to one place of its layer."""
    places = {}
    for source in sources:
        if source.is_c and source.layer in rules.named:
            for line, name in static_functions(source):
                places.setdefault((source.layer, name), []).append((source, line))
    for (layer, name), found in places.items():
        source, line = found[-1]
        if "_" not in name:
            yield source.finding(line, "name", f"{name} is one word: say what it does to what")
        if len({s.path for s, _ in found}) > 1:
            yield source.finding(line, "name", f"{name} is also in {found[0][0].path}")


def run(root):
    """All findings, and the number of files."""
    with open(os.path.join(root, "ARCHITECTURE.md"), encoding="utf-8") as f:
        document = f.read()
    with open(os.path.join(root, "tools", "layers.txt"), encoding="utf-8") as f:
        rules = parse_rules(f.read(), document)
    sources = []
    for path in find_sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            sources.append(Source(root, path, f.read()))
    findings = [finding for source in sources for finding in check_source(source, rules)]
    findings += unclear_names(rules, sources)
    findings += unused_statics(rules, sources)
    return findings, len(sources)


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.abspath(arguments[1]) if len(arguments) > 1 else os.path.dirname(here)
    findings, count = run(root)
    for finding in findings:
        print(finding)
    print(f"tidy: {count} files checked")
    return 1 if any(not finding.is_warning for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
