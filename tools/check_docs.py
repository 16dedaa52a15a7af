#!/usr/bin/env python3
"""What the documentation lists is what there is: environment variables (docs/environment.md),
tables, exporters and verbs (any page), pages (docs/README.md), files and headings that Markdown
links to, what the rows of docs/seeds.md name. Prose wraps at 100 columns, names of columns keep to
the words of ARCHITECTURE.md.

Prints what is missing or too much and exits 1; silent and 0 otherwise.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LITERAL = re.compile(r"[\"'](CROSSCUT_[A-Z_]*[A-Z])=?[\"']")
ROW = re.compile(r"^\| `(CROSSCUT_[A-Z_]+?)(?:_<KEY>)?` \|", re.M)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
SECTION = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
# Of docs/seeds.md: what a link promises to stand in its file; a row; how many of its section hold.
NAMED = re.compile(r"\[`([^`]+)`\]\(([^)#]+)\)")
STATEMENT = re.compile(r"^\| (\d+) \|.*\]\(.*\| (holds|in part: |not yet: )[^|]*\|$")
COUNTS = re.compile(r"^(\d+) statements: (\d+) hold, (\d+) hold in part, (\d+) not yet\.$", re.M)
# Of the C API and of builds: no variables of the environment.
OTHERS = {"CROSSCUT_ON_DEVICE", "CROSSCUT_ON_HOST_RUNTIME", "CROSSCUT_API", "CROSSCUT_PLUGIN"}


# What a page must have by its name: kind, where it is listed, and how.
THINGS = (("table", ("src/analyze/*/list.cc", "src/analyze/tables.cc"), r'\.name = "(\w+)"'),
          ("exporter", ("src/export/exporter.cc",), r'\{"([\w-]+)", "'),
          ("verb", ("src/cli/*.cc",),
           r'(?:Verb verb|Controlling|Changing)\([^"{]*"(?:[a-z]+ )?([a-z-]+)"'))
MOST_WORDS = 40
WORDS = re.compile(r"^\| ([a-z]+(?:[ ,]+[a-z]+)*) \|", re.M)
COLUMN = re.compile(r"(?:MakeColumn|\.Text|\.Integer)\(\s*\"([a-z0-9_]+)\"")
# In names of columns, and the word that is meant.
INSTEAD = {"op": "operator", "ops": "operators", "func": "function", "proc": "process",
           "tid": "thread", "cat": "layer", "category": "layer", "class": "kind", "cls": "kind",
           "dur": "ns", "duration": "ns", "evt": "event", "mem": "bytes", "util": "percent"}


def listed(*patterns: str) -> list[str]:
    return subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns],
                          cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def variables() -> list[str]:
    """Those that the sources read or set and the page does not have, and the other way round."""
    used: dict[str, str] = {}
    for path in listed("src", "plugins", "python"):
        if "test" in path or not path.endswith((".cc", ".h", ".c", ".py")):
            continue
        for name in LITERAL.findall((ROOT / path).read_text(encoding="utf-8")):
            if name not in OTHERS and not name.startswith("CROSSCUT_PLUGIN_"):
                used.setdefault(name, path)
    page = set(ROW.findall((ROOT / "docs/environment.md").read_text(encoding="utf-8")))
    page.discard("CROSSCUT_PLUGIN")
    return ([f"{used[name]}: {name} has no row in docs/environment.md"
             for name in sorted(used.keys() - page)] +
            [f"docs/environment.md: nothing reads {name}" for name in sorted(page - used.keys())])


def things() -> list[str]:
    """Tables, exporters and verbs that no page has by their names."""
    pages = "\n".join((ROOT / path).read_text(encoding="utf-8")
                      for path in listed("*.md") if path != "CHANGELOG.md")
    found = []
    for kind, paths, name_of in THINGS:
        for path in listed(*paths):
            for name in re.findall(name_of, (ROOT / path).read_text(encoding="utf-8")):
                if not re.search(rf"`[^`\n]*(?<![\w-]){re.escape(name)}(?![\w-])[^`\n]*`", pages):
                    found.append(f"{path}: no page has the {kind} {name}")
    return found


def links() -> list[str]:
    found, linked = [], set()
    for path in listed("*.md"):
        folder = (ROOT / path).parent
        for target in LINK.findall((ROOT / path).read_text(encoding="utf-8")):
            there = (folder / target).resolve()
            if not there.exists():
                found.append(f"{path}: there is no {target}")
            elif path == "docs/README.md":
                linked.add(there)
    for path in listed("docs/*.md"):
        page = (ROOT / path).resolve()
        if page.parent == ROOT / "docs" and page.name != "README.md" and page not in linked:
            found.append(f"docs/README.md: no link to {page.name}")
    return found


def headings(page: pathlib.Path) -> set[str]:
    """As the renderers of Markdown call them in links."""
    names = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in names}


def sections() -> list[str]:
    found = []
    for path in listed("*.md"):
        for target, name in SECTION.findall((ROOT / path).read_text(encoding="utf-8")):
            page = (ROOT / path).parent / target if target else ROOT / path
            if page.suffix == ".md" and page.exists() and name not in headings(page):
                found.append(f"{path}: {target} has no section {name}")
    return found


def statements() -> list[str]:
    """Of docs/seeds.md: rows in order, each with a link and a state; names that are not where the
    row says; sums that are none."""
    path = "docs/seeds.md"
    text = (ROOT / path).read_text(encoding="utf-8")
    found = [f"{path}: {target} has no {name}" for name, target in NAMED.findall(text)
             if (ROOT / "docs" / target).is_file() and
             name not in (ROOT / "docs" / target).read_text(encoding="utf-8")]
    for section in text.split("\n## ")[1:]:
        title, states = section.split("\n")[0], []
        for row in re.findall(r"^\| \d.*$", section, re.M):
            match = STATEMENT.match(row)
            if match is None or int(match[1]) != len(states) + 1:
                found.append(f"{path}: {title}: row {len(states) + 1} has no number, link or state")
            states.append(match[2] if match else "")
        counts = (len(states), *map(states.count, ("holds", "in part: ", "not yet: ")))
        if [tuple(map(int, said)) for said in COUNTS.findall(section)] != [counts]:
            found.append(f"{path}: {title}: of {counts[0]} statements {counts[1]} hold, "
                         f"{counts[2]} in part, {counts[3]} not yet")
    return found


def wide() -> list[str]:
    """Lines of prose: no table, no code."""
    found = []
    for path in listed("*.md"):
        code = False
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").split("\n"), 1):
            if line.lstrip().startswith("```"):
                code = not code
            elif not code and len(line) > 100 and not line.startswith(("    ", "|", "#")):
                found.append(f"{path}:{number}: {len(line)} columns, 100 are the most")
    return found


def words() -> list[str]:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    glossary = [word for row in WORDS.findall(text[text.index("## Words"):])
                for word in row.split(", ") if row != "word"]
    found = []
    if len(glossary) > MOST_WORDS or len(set(glossary)) < len(glossary):
        found.append(f"ARCHITECTURE.md: {len(glossary)} words, {MOST_WORDS} at most, each once")
    for path in listed("src/analyze"):
        if path.endswith(".cc") and "test" not in path:
            for column in COLUMN.findall((ROOT / path).read_text(encoding="utf-8")):
                found.extend(f"{path}: column {column}: the word is {INSTEAD[part]}"
                             for part in column.split("_") if part in INSTEAD)
    return found


if __name__ == "__main__":
    problems = variables() + things() + links() + sections() + statements() + wide() + words()
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)
