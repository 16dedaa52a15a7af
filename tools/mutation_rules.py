"""What tools/mutate changes: a comparison turned, min for max, a constant by one, a line dropped.
C++ by rules on lines without their strings and comments, Python by its syntax tree."""

import ast
import re
from typing import NamedTuple

TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPARISON = re.compile(r"(?<= )(<=|>=|==|!=|<|>)(?= )")
EXTREME = re.compile(r"\bstd::(min|max)(?=[(<])")
CONSTANT = re.compile(r"(?<![\w.'\"])\d[\d']*(?![\w.'\"])")
# Statements: a call, an assignment, a step, one of these behind a condition. Declarations have two
# words before their first "=" or "(" and are none.
NAME = r"\*?[\w:.\->\[\]]+"
STATEMENT = re.compile(
    rf"\s*(?:(?:else )?if \(.*\) )?(?:{NAME}(?: [-+*/|&]?=[^=].*|\(.*\))|(?:\+\+|--)[\w.\->]+|"
    r"continue|break);$")
BEFORE = re.compile(r"[;{}:]\s*$|^\s*$")  # the end of a line behind which a statement begins
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'', re.S)
RAW = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)
LEFT_ALONE = re.compile(r"\s*(?:#|static_assert|template|using|CHECK|case |(?:\w+ )?assert\()")


class Mutant(NamedTuple):
    """`text` from `begin` to `end` becomes `new`."""

    line: int
    begin: int
    end: int
    new: str
    rule: str

    def of(self, text):
        return text[:self.begin] + self.new + text[self.end:]


def blanked(text):
    """The same with as many blanks in place of strings and comments."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return LITERAL.sub(blank, RAW.sub(blank, text))


def of_cpp(text):
    out, at, previous = [], 0, ""
    for number, line in enumerate(blanked(text).split("\n"), 1):
        if line.strip() and not LEFT_ALONE.match(line):
            out += of_line(line, number, at)
            if BEFORE.search(previous) and STATEMENT.match(line.rstrip()) and \
                    line.count("(") == line.count(")"):
                out.append(Mutant(number, at, at + len(line), "", "dropped line"))
        previous = line if line.strip() else previous
        at += len(line) + 1
    return out


def of_line(line, number, at):
    out = []
    for match in COMPARISON.finditer(line):
        out.append(Mutant(number, at + match.start(), at + match.end(), TURNED[match.group()],
                          "turned comparison"))
    for match in EXTREME.finditer(line):
        other = {"min": "max", "max": "min"}[match.group(1)]
        out.append(Mutant(number, at + match.start(1), at + match.end(1), other, "min for max"))
    for match in CONSTANT.finditer(line):
        value = int(match.group().replace("'", ""))
        for new in {value + 1, max(0, value - 1)} - {value}:
            out.append(Mutant(number, at + match.start(), at + match.end(), str(new),
                              "constant by one"))
    return out


OPERATORS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}


def of_python(text):
    starts, lines = [0], text.split("\n")
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def place(number, column):  # the tree counts bytes
        return starts[number - 1] + len(lines[number - 1].encode()[:column].decode())

    out = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            begin = place(node.left.end_lineno, node.left.end_col_offset)
            end = place(node.comparators[0].lineno, node.comparators[0].col_offset)
            found = re.search(r"<=|>=|==|!=|<|>", text[begin:end])
            if found:
                out.append(Mutant(node.lineno, begin + found.start(), begin + found.end(),
                                  OPERATORS[type(node.ops[0])], "turned comparison"))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and \
                node.func.id in ("min", "max"):
            begin = place(node.func.lineno, node.func.col_offset)
            out.append(Mutant(node.lineno, begin, begin + 3,
                              {"min": "max", "max": "min"}[node.func.id], "min for max"))
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            begin, end = (place(node.lineno, node.col_offset),
                          place(node.end_lineno, node.end_col_offset))
            if text[begin:end].isdigit():
                out += [Mutant(node.lineno, begin, end, str(new), "constant by one")
                        for new in {node.value + 1, max(0, node.value - 1)} - {node.value}]
        elif isinstance(node, (ast.AugAssign, ast.Continue, ast.Break)) or \
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            out.append(Mutant(node.lineno, place(node.lineno, node.col_offset),
                              place(node.end_lineno, node.end_col_offset), "pass",
                              "dropped line"))
    return sorted(out)


def of_file(name, text):
    return of_python(text) if name.endswith(".py") else of_cpp(text)
