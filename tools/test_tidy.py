#!/usr/bin/env python3
"""Plants each kind of violation in a small tree and looks for the finding, and only for it."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

LAYER_TABLE = """
| layer | what it is | may use |
|---|---|---|
| `src/base` | memory | libc |
| `src/core` | machines | `base` |
| `src/store` | files | `base`, sqlite3 |
| `src/serve` | calls | `base`, `core/limits.h`, `core/*.def` |
| `src/main` | the program | `*` |
"""

LAYERS = """
# comment
names: base
header sqlite3.h: store/sqlite
header event2/*: serve
header time.h: store
call clock_gettime: store
call usleep:
static src/base/fault.c state: for tests
"""

CLEAN = {
    "src/base/fault.c": "static int state;\n",
    "src/base/a.h": "#pragma once\nint a_get(void);\n",
    "src/base/a.c": '#include "base/a.h"\n#include <stdio.h>\nint a_get(void) {\n    return 1;\n}\n',
    "src/core/limits.h": "#pragma once\n",
    "src/core/run.h": '#pragma once\n#include "base/a.h"\n',
    "src/core/events.def": "EVENT(x)\n",
    "src/serve/s.c": '#include "core/limits.h"\n#include "core/events.def"\n#include <event2/event.h>\n',
    "src/main/m.c": '#include "core/run.h"\n#include "serve/names.h"\n',
    "src/store/sqlite/q.c": "#include <sqlite3.h>\n#include <time.h>\n",
    "test/t.c": '#include "base/a.h"\n#include <sqlite3.h>\n#include <time.h>\n',
    "test/harness.h": "#pragma once\n",
}


@contextlib.contextmanager
def planted(files, layers=LAYERS, table=LAYER_TABLE):
    """The root of the clean tree with some files replaced or added."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN, **files, "tools/layers.txt": layers, "ARCHITECTURE.md": table}.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        yield root


def findings(files, layers=LAYERS, table=LAYER_TABLE):
    with planted(files, layers, table) as root:
        return tidy.run(root)[0]


class TidyTest(unittest.TestCase):
    def expect(self, path, text, *expected):
        """The file at path gives exactly these (line, rule) findings and no other file gives any."""
        found = findings({path: text})
        self.assertEqual([(path, line, rule) for line, rule in expected], [(f.path, f.line, f.rule) for f in found],
                         "\n".join(map(str, found)))

    def test_clean_tree_has_no_findings(self):
        self.assertEqual([], findings({}))


class LayerTest(TidyTest):
    def test_upward_include(self):
        self.expect("src/base/b.c", 'int x(void);\n#include "core/run.h"\n', (2, "layer"))

    def test_sideways_include(self):
        self.expect("src/store/b.c", '#include "core/run.h"\n', (1, "layer"))

    def test_only_the_listed_headers_of_a_layer(self):
        self.expect("src/serve/b.c", '#include "core/run.h"\n', (1, "layer"))

    def test_include_of_test(self):
        self.expect("src/main/b.c", '#include "test/harness.h"\n#include "harness.h"\n', (1, "layer"), (2, "layer"))

    def test_relative_include(self):
        self.expect("src/core/b.c", '#include "run.h"\n#include "../base/a.h"\n', (1, "layer"), (2, "layer"))

    def test_unknown_layer(self):
        self.expect("src/util/b.c", "int x(void);\n", (1, "layer"))

    def test_commented_include_does_not_count(self):
        self.expect("src/base/b.c", '/*\n#include "core/run.h"\n*/\n')

    def test_generated_header_is_fine(self):
        self.expect("src/core/b.c", '#include "names.h"\n')

    def test_path_outside_src_when_listed(self):
        table = LAYER_TABLE.replace("machines | `base`", "machines | `base`, `../../proto/x.def`")
        files = {"src/core/b.c": '#include "../../proto/x.def"\n'}
        self.assertEqual([], findings(files, table=table))


class NameTest(TidyTest):
    def test_one_word(self):
        self.expect("src/base/b.c", "static void go(void) {\n}\n", (1, "name"))

    def test_same_name_twice_in_a_layer(self):
        files = {f"src/base/{f}.c": "static int run_all(void) {\n    return 1;\n}\n" for f in ("b", "c")}
        self.assertEqual([("src/base/c.c", "name")], [(f.path, f.rule) for f in findings(files)])

    def test_same_name_in_another_layer(self):
        files = {f"src/{f}.c": "static int run_all(void) {\n    return 1;\n}\n" for f in ("base/b", "store/c")}
        self.assertEqual([], findings(files))

    def test_layer_whose_names_are_not_checked(self):
        self.expect("src/store/b.c", "static void go(void) {\n}\n")


class HeaderTest(TidyTest):
    def test_third_party_header_outside_its_owner(self):
        self.expect("src/store/b.c", "#include <sqlite3.h>\n", (1, "header"))

    def test_pattern(self):
        self.expect("src/core/b.c", "# include <event2/buffer.h>\n", (1, "header"))

    def test_owner_is_a_directory_not_a_prefix(self):
        self.expect("src/store/sqlite_b.c", "#include <sqlite3.h>\n", (1, "header"))

    def test_time_outside_its_owner(self):
        self.expect("src/core/b.c", "#include <time.h>\n", (1, "header"))


class CallTest(TidyTest):
    def test_clock_outside_its_owner(self):
        self.expect("src/core/b.c", "void f(void) {\n    clock_gettime(0, p);\n}\n", (2, "call"))

    def test_clock_in_test_is_fine(self):
        self.expect("test/b.c", "void f(void) {\n    clock_gettime(0, p);\n}\n")

    def test_sleep_nowhere(self):
        self.expect("src/core/b.c", "void f(void) {\n    usleep(1);\n}\n", (2, "call"))
        self.expect("test/b.c", "void f(void) {\n    usleep (1);\n}\n", (2, "call"))

    def test_words_members_and_strings_are_not_calls(self):
        body = 'x->usleep(1); /* usleep(1) */ puts("usleep(1)"); my_usleep(1);'
        self.expect("src/core/b.c", f"void f(void) {{ {body} }}\n")


class LengthTest(TidyTest):
    def body(self, lines):
        return "void f(void) {\n" + "    g();\n" * (lines - 2) + "}\n"

    def test_function_at_the_limit(self):
        self.expect("src/core/b.c", self.body(100))

    def test_function_past_the_limit(self):
        self.expect("src/core/b.c", "int x(void);\n" + self.body(101), (2, "function"))

    def test_every_function_counts(self):
        self.expect("src/core/b.c", self.body(101) + self.body(3) + "TEST(x) {\n" + "    g();\n" * 100 + "}\n",
                    (1, "function"), (105, "function"))

    def test_name_in_the_text(self):
        found = findings({"src/core/b.c": "static int run_all(int (*fn)(int)) {\n" + "    g();\n" * 100 + "}\n"})
        self.assertIn("run_all has 102 lines", str(found[0]))

    def test_long_table_is_not_a_function(self):
        self.expect("src/core/b.c", "static const int table[] = {\n" + "    1,\n" * 200 + "};\n")

    def test_braces_in_text_do_not_count(self):
        self.expect("src/core/b.c", 'void f(void) {\n    g("}", \'{\'); /* { */\n}\n' + self.body(90))

    def test_file_past_the_warning(self):
        found = findings({"src/core/b.c": "int f(void);\n" * 901})
        self.assertEqual([("length", True)], [(f.rule, f.is_warning) for f in found])

    def test_file_past_the_limit(self):
        found = findings({"src/core/b.c": "int f(void);\n" * 1501})
        self.assertEqual([("length", False)], [(f.rule, f.is_warning) for f in found])

    def test_file_at_the_warning(self):
        self.expect("src/core/b.c", "int f(void);\n" * 900)


class WordTest(TidyTest):
    def test_unfinished(self):
        for word in tidy.UNFINISHED_WORDS:
            self.expect("src/core/b.c", f"int f(void);\n/* {word}: later */\n", (2, "unfinished"))
            self.expect("test/b.py", f"# {word}\n", (1, "unfinished"))

    def test_longer_words_are_fine(self):
        self.expect("src/core/b.c", "/* HACK" + "ING.md, see mkstemp XXX" + "XXX */\n")

    def test_banners(self):
        for line in ("/* ---- part ---- */", "/*=======*/", "/*******", " * -----", "// ----", "//////", "/* ~~~ */"):
            self.assertIsNotNone(tidy.BANNER.match(line), line)
        self.expect("src/core/b.c", "/* what\n * -----\n */\n", (2, "banner"))

    def test_ordinary_comments(self):
        for line in ("/* a - b */", "/** doc */", "// x", " * - item", " */", "*--p = 1;", "/* -1 */"):
            self.assertIsNone(tidy.BANNER.match(line), line)


class CleanupTest(TidyTest):
    def test_return_before_a_value(self):
        for declared in ("struct buf b cleanup(buf_done);", "cleanup(buf_done) struct buf a, b;"):
            text = "void f(int x) {\n    " + declared + "\n    if (x)\n        return;\n    buf_init(&b, 1);\n    a = b;\n}\n"
            found = findings({"src/core/b.c": text})
            self.assertIn(("src/core/b.c", 2, "cleanup"), [(f.path, f.line, f.rule) for f in found])

    def test_value_first(self):
        for first in ("buf_init(&b, 1);", "b = other;", "rig_open(1, &b);", "rig_init(b);"):
            text = "int f(int x) {\n    struct buf b cleanup(buf_done);\n    " + first + "\n    return x;\n}\n"
            with self.subTest(first):
                self.expect("src/core/b.c", text)

    def test_value_in_the_declaration(self):
        self.expect("src/core/b.c", "int f(int x) {\n    struct cal *c cleanup(cal_freep) = NULL;\n    return x;\n}\n")


class StaticTest(TidyTest):
    def test_writable(self):
        for text in (
            "static int count;",
            "int count = 3;",
            "static _Thread_local struct x count;",
            "static const char *names[] = {0};",
            "static char text[16];",
            "struct x { const int a; } shared;",
            "static int (*hook)(int);",
            "static int (*hooks[3])(int) = {0};",
            "static struct x x __attribute__((unused));",
            "static int sizes[sizeof(int)] = {(int)3};",
            "void f(void) { static int count; }",
            "void f(void) { g(); static char *const *p = 0; }",
        ):
            with self.subTest(text):
                self.expect("src/core/b.c", text + "\n", (1, "static"))

    def test_constant_or_no_variable(self):
        for text in (
            "static const int count = 3;",
            "static const char *const names[] = {0};",
            "const struct x rows[2] = {{1, \"a=b\"}};",
            "static const struct { const char *name; int n; } rows[] = {{0}};",
            "static int (*const hook)(int) = f;",
            "int f(void); static int g(int (*cb)(void *), char *p);",
            "struct x { int a; char *b; };",
            "struct x;",
            "typedef int run_fn(int);",
            "run_fn run_start;",
            "enum { A, B = 2 };",
            "union u { int a; };",
            "_Static_assert(sizeof(int) == 4, \"\");",
            "extern int elsewhere;",
            "static inline int f(int a) { int b = a; return b; }",
            "void f(void) { static const int a = 1; int b; }",
            "void f(void) { static const char *const a[] = {0}; b = non_static; }",
            "#define X static int hidden;",
            "static struct x f(void) { return (struct x){1}; }",
            "__attribute__((constructor)) static void f(void) { }",
        ):
            with self.subTest(text):
                self.expect("src/core/b.c", text + "\n")

    def test_rule_holds_for_tests_too(self):
        self.expect("test/b.c", "static int count;\n", (1, "static"))

    def test_allowed_only_in_its_file(self):
        self.expect("src/base/b.c", "static int state;\n", (1, "static"))

    def test_allowance_without_variable(self):
        found = findings({"src/base/fault.c": "int f(void);\n"})
        self.assertEqual([("tools/layers.txt", "static")], [(f.path, f.rule) for f in found])


class FormTest(TidyTest):
    def test_header_without_pragma(self):
        self.expect("src/core/b.h", "int f(void);\n", (1, "pragma"))
        self.expect("test/b.h", "/* #pragma once */\n", (1, "pragma"))

    def test_own_header_first(self):
        self.expect("src/base/a.c", '#include <stdio.h>\n#include "base/a.h"\n', (1, "include"))

    def test_own_header_missing(self):
        self.expect("src/base/a.c", "int a_get(void);\n", (1, "include"))


class ProgramTest(unittest.TestCase):
    def run_main(self, files):
        output = io.StringIO()
        with planted(files) as root, contextlib.redirect_stdout(output):
            code = tidy.main(["tidy.py", root])
        return code, output.getvalue().splitlines()

    def test_clean(self):
        self.assertEqual((0, [f"tidy: {len(CLEAN)} files checked"]), self.run_main({}))

    def test_warning_alone_passes(self):
        code, lines = self.run_main({"src/core/b.c": "int f(void);\n" * 901})
        self.assertEqual(0, code)
        self.assertEqual("src/core/b.c:901: length: warning: 901 lines, at most 1500 and better below 900", lines[0])

    def test_failure(self):
        code, lines = self.run_main({"src/core/b.c": "static int count;\n"})
        self.assertEqual(1, code)
        self.assertEqual("src/core/b.c:1: static: count is writable and outlives the call", lines[0])

    def test_unreadable_rules(self):
        for line in ("layer", "layer a b: c", "static x y:", "lair x: y"):
            with self.assertRaises(ValueError):
                tidy.parse_rules(line, LAYER_TABLE)


if __name__ == "__main__":
    unittest.main()
