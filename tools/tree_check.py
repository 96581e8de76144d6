"""Checks that what is written down about the tree is so. Prints a line for each problem; exit 1 if there is one.

- a relative link in a document leads to a file, and its anchor to a heading
- a path or a function that ARCHITECTURE.md, HACKING.md or a README of src names exists
- the lines that test/sim/mutants.txt changes are in their files
- the first workflow in README.md is the one that test/sdk/first runs
- every test program and every *.test.mjs is named in test/meson.build, so that it runs
- every file of the corpus belongs to a fuzz target that is replayed
"""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutate  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def find(pattern):
    paths = glob.glob(os.path.join(ROOT, pattern), recursive=True)
    return sorted(os.path.relpath(p, ROOT) for p in paths if "node_modules" not in p)


def anchors(document):
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", read(document), flags=re.M | re.S)
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def dead_links():
    for document in find("*.md") + find("docs/**/*.md") + find("src/**/*.md") + find("test/**/*.md"):
        for target in re.findall(r"\]\(([^)\s]+)\)", read(document)):
            path, _, anchor = target.partition("#")
            if "://" in target:
                continue
            linked = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
            if not os.path.exists(os.path.join(ROOT, linked)):
                yield f"{document}: no file for the link {target}"
            elif anchor and linked.endswith(".md") and anchor not in anchors(linked):
                yield f"{document}: no heading for the link {target}"


PATH = re.compile(r"`((?:src|test|tools|docs|proto|[a-z]+)/[\w./-]+\.(?:c|h|def|md|py|sh|mjs|txt|proto|json|yaml))`")
FUNCTION = re.compile(r"`([a-z_][a-z0-9_]*)\(\)`")


def wrong_names():
    documents = ["ARCHITECTURE.md", "HACKING.md", *find("src/**/README.md")]
    sources = find("src/**/*.[ch]") + find("src/**/*.def") + find("test/**/*.[ch]") + find("test/**/*.mjs") + find("tools/*.py")
    words = set(re.findall(r"[a-z_][a-z0-9_]*", "\n".join(map(read, sources))))
    for document in documents:
        text, here = read(document), os.path.dirname(document)
        for path in PATH.findall(text):
            if not any(find(os.path.join(base, path)) for base in ("", "src", here, os.path.dirname(here))):
                yield f"{document}: there is no {path}"
        for name in FUNCTION.findall(text):
            if name not in words:
                yield f"{document}: there is no function {name}()"


def mutants_gone():
    for mutant, text in mutate.misfits(mutate.read_table(mutate.TABLE)):
        yield f"test/sim/mutants.txt: {mutant.name}: {text}"


def readme_differs():
    readme = read("README.md")
    for name in ("workflows.ts", "worker.mjs", "client.mjs"):
        if read(f"test/sdk/first/{name}").strip() not in readme:
            yield f"README.md: does not show test/sdk/first/{name} as it is"


def tests_not_run():
    listed = read("test/meson.build")
    names = {path: re.sub(r"^test_|\.c$|\.test\.mjs$", "", os.path.basename(path))
             for path in find("test/unit/test_*.c") + find("test/*/*.test.mjs")}
    names.update({path: os.path.basename(path) for path in find("test/fuzz/corpus/*")})
    names.update({path: re.sub(r"^fuzz_|\.c$", "", os.path.basename(path)) for path in find("test/fuzz/fuzz_*.c")})
    for path, name in names.items():
        if f"'{name}'" not in listed:
            yield f"{path}: not in test/meson.build"


def main():
    problems = [*dead_links(), *wrong_names(), *mutants_gone(), *readme_differs(), *tests_not_run()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
