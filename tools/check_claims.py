#!/usr/bin/env python3
"""Every figure of README.md and docs/*.md has a row in docs/claims.md, as that page says.

    python3 tools/check_claims.py [--write]

Prints what is wrong and exits 1; silent and 0 otherwise. --write takes over what the pages have; of
a claim whose numbers changed it drops commit and date, since who measured has to say them.
"""

import datetime
import hashlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = "docs/claims.md"
MOST_COMMITS = 200  # to what may change a figure
MOST_DAYS = 7  # that work waits to be committed as one, behind its measurement
PRODUCT = ["src", "python", "plugins", "include", "bench", ":!*_test.cc", ":!*/testing/*"]
MOST_SHOWN = 12  # numbers of a claim that its row has in full

NUMBER = r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?"
UNIT = (r"(?:%|(?:per cent|percent|times|ns|us|µs|ms|s|min|minutes?|hours?|seconds?|[kKMG]i?B|"
        r"(?:micro|milli|nano)seconds?)\b)")
# With a unit; "7 of 10"; an interval in brackets; a cell that is a fraction and no more.
FIGURE = re.compile(rf"(?:{NUMBER} (?:to|and|or) )?{NUMBER}\s?{UNIT}|{NUMBER} of \d[\d,]*\b|"
                    rf"\({NUMBER} to {NUMBER}\)|(?<=\| )[+-]?\d[\d,]*\.\d+(?= \|)")
NUMBERS = re.compile(NUMBER)
MARK = re.compile(r"<!-- claim: ([\w-]+) -->")
HIDDEN = re.compile(r"<!--.*?-->|`[^`\n]+`|\]\([^)]*\)")
CLAIM = re.compile(r"^\| ([\w-]+) \| ([\w./-]+\.md) \|" + 4 * r" ([^|]*) \|" + "$", re.M)
OTHERS = re.compile(r"^\| ([\w./-]+\.md) \| ([^|]*) \|$", re.M)


def blocks(text):
    """Paragraphs, items, tables and pieces of code, each as one text. A line that is a mark alone
    belongs to what follows."""
    block, fence, out = [], False, []
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence:
            starts = re.match(r"\s*(?:[-*] |\d+\. |#|<!-- )", line)
            alone = block and all(MARK.fullmatch(x.strip()) for x in block)
            if not line.strip() or starts and not alone:
                out.append("\n".join(block))
                block = []
        block.append(line)
    return out + ["\n".join(block)]


def taken(text):
    """id -> its numbers; and the figures of a page that no claim has, in its order."""
    claims, others = {}, []
    for block in blocks(text):
        marks = MARK.findall(block)
        bare = HIDDEN.sub("", block)
        if marks:
            claims.setdefault(marks[0], []).extend(NUMBERS.findall(bare))
        else:
            others += [re.sub(r"\s+", " ", figure) for figure in FIGURE.findall(bare)]
    return claims, others


def shown(numbers):
    if len(numbers) <= MOST_SHOWN:
        return "; ".join(numbers)
    return (f"{len(numbers)} numbers, "
            f"{hashlib.sha256(' '.join(numbers).encode()).hexdigest()[:10]}")


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def misses_of_row(row, git=git):
    """What is wrong with how a claim says where it comes from, in words."""
    name, _, _, command, commit, date = row
    said = []
    if not re.search(r"`[^`]+`", command):
        said.append("says no command")
    said += [f"names {path}, which is not there" for path in re.findall(
        r"(?<![\w/.-])((?:bench|examples|tests|tools|src|plugins)/[\w./-]+)", command)
        if not (ROOT / path).exists()]
    if git("rev-parse", "--is-shallow-repository") != "false":  # or a copy without its history
        return [f"{name}: {words}" for words in said]
    if not re.fullmatch(r"[0-9a-f]{7,40}", commit) or git("cat-file", "-t", commit) != "commit":
        said.append(f"{commit or 'nothing'} is no commit of this clone")
        return [f"{name}: {words}" for words in said]
    if git("merge-base", "--is-ancestor", commit, "HEAD") is None:
        said.append(f"{commit} is not behind HEAD")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date) or datetime.date.fromisoformat(
            date) < datetime.date.fromisoformat(git("show", "-s", "--format=%cs", commit)
                                                ) - datetime.timedelta(days=MOST_DAYS):
        said.append(f"{date or 'nothing'} is no day of {commit}")
    age = int(git("rev-list", "--count", f"{commit}..HEAD", "--", *PRODUCT) or 0)
    if age > MOST_COMMITS:
        said.append(f"measured {age} commits ago, not counting docs and tests; {MOST_COMMITS} are "
                    "the most: measure it again or withdraw it")
    if git("tag", "--list", "v*", "--contains", commit, "--merged", "HEAD"):
        said.append("measured before the last release")
    return [f"{name}: {words}" for words in said]


def pages():
    found = [str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")]
    return ["README.md", *sorted(page for page in found if page != LIST)]


def compared(text, page_texts, git=git):
    """What is wrong, in words. `text`: of the list; page_texts: page -> its text."""
    said, claims, others = [], {}, {}
    for page, of_page in page_texts.items():
        of_claims, others[page] = taken(of_page)
        for name, numbers in of_claims.items():
            if name in claims:
                said.append(f"{page}: the claim {name} is one of {claims[name][0]}, too")
            claims[name] = (page, shown(numbers))
    rows = CLAIM.findall(text)
    for row in rows:
        name, page, numbers = row[:3]
        if name not in claims:
            said.append(f"{LIST}: no page has the claim {name}")
        elif claims[name] != (page, numbers):
            said.append(f"{name}: {claims[name][0]} has {claims[name][1] or 'no number'}, its row "
                        f"{numbers} of {page}")
        said += misses_of_row(row, git)
    names = [row[0] for row in rows]
    said += [f"{page}: the claim {name} has no row in {LIST}"
             for name, (page, _) in claims.items() if name not in names]
    said += [f"{LIST}: {name} has two rows" for name in set(names) if names.count(name) > 1]
    listed = dict(OTHERS.findall(text))
    for page, figures in others.items():
        row = [figure for figure in listed.get(page, "").split("; ") if figure]
        more = [figure for figure in figures if figures.count(figure) > row.count(figure)]
        less = [figure for figure in row if row.count(figure) > figures.count(figure)]
        if more:
            said.append(f"{page}: no claim and no rule: {', '.join(dict.fromkeys(more))}")
        if less:
            said.append(f"{LIST}: {page} has no more: {', '.join(dict.fromkeys(less))}")
    return said


def written(text, page_texts):
    claims, others = {}, {}
    for page, of_page in page_texts.items():
        of_claims, others[page] = taken(of_page)
        claims.update({name: shown(numbers) for name, numbers in of_claims.items()})

    def row(match):
        name, page, numbers, command, commit, date = match.groups()
        if claims.get(name, numbers) != numbers:
            numbers, commit, date = claims[name], "", ""
        return f"| {name} | {page} | {numbers} | {command} | {commit} | {date} |"

    head = text[:OTHERS.search(text).start()] if OTHERS.search(text) else text
    return CLAIM.sub(row, head) + "".join(f"| {page} | {'; '.join(figures)} |\n"
                                          for page, figures in others.items() if figures)


def main():
    page_texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in pages()}
    text = (ROOT / LIST).read_text(encoding="utf-8")
    if sys.argv[1:] == ["--write"]:
        text = written(text, page_texts)
        (ROOT / LIST).write_text(text, encoding="utf-8")
    said = compared(text, page_texts)
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
