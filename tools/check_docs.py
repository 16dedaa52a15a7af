#!/usr/bin/env python3
"""What the documentation lists is what there is: environment variables (docs/environment.md), pages
(docs/README.md), and files that Markdown links to.

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
# Of the C API and of builds: no variables of the environment.
OTHERS = {"CROSSCUT_ON_DEVICE", "CROSSCUT_ON_HOST_RUNTIME", "CROSSCUT_API", "CROSSCUT_PLUGIN"}


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


if __name__ == "__main__":
    problems = variables() + links()
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)
