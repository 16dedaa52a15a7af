#!/usr/bin/env python3
"""Refuses tests in Python that pass where there is nothing to look at: `assert all(...)` of what
may be empty, and loops of asserts over it.

What is gone through must be shown to hold something: it is written down there (a literal, a
constant of the module, a range of numbers), or a name in it is asserted or compared elsewhere in
the function (`assert rows and all(...)`, `assert len(rows) == 3`). A comprehension with a condition
shows nothing: assert a list of what it leaves. Where nothing is right, too, a comment says so on
that line or the one before: "may be empty: WHY". Prints each place and exits 1; silent otherwise.
"""

import ast
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
# As long as what they are given.
KEEPING = {"dict", "enumerate", "iter", "list", "map", "reversed", "set", "sorted", "tuple", "zip"}
METHODS = {"items", "keys", "values", "copy"}


def called(node, names):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def is_all(node):
    return called(node, {"all"}) and len(node.args) == 1


def holds_something(node, constants):
    """Whether what is gone through is written down and not empty."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts)
    if isinstance(node, ast.Dict):
        return bool(node.keys)
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.Attribute):  # of another module
        return node.attr.isupper()
    if isinstance(node, ast.BinOp):
        return any(holds_something(side, constants) for side in (node.left, node.right))
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        return all(holds_something(g.iter, constants) and not g.ifs for g in node.generators)
    if called(node, {"range"}):
        return True
    if called(node, KEEPING):
        given = node.args[1:] if node.func.id == "map" else node.args
        return bool(given) and all(holds_something(one, constants) for one in given)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in METHODS and holds_something(node.func.value, constants)
    return False


def names_in(node):
    """But for those of functions that are called."""
    functions = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    return names_outside(node, functions)


def asserted(function, loop=None):
    """The names that asserts of the function hold outside of all(), but for asserts in `loop`."""
    apart = {id(one) for one in ast.walk(loop)} if loop else set()
    for one in ast.walk(function):
        if isinstance(one, ast.Assert):
            for all_of in filter(is_all, ast.walk(one.test)):
                apart.update(map(id, ast.walk(all_of)))
            if one.msg is not None:
                apart.update(map(id, ast.walk(one.msg)))
    asserts = [one for one in ast.walk(function) if isinstance(one, ast.Assert)]
    return {name for one in asserts if id(one) not in apart for name in names_outside(one, apart)}


def names_outside(node, apart):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in apart}


def iterables(function):
    """(line, what is gone through, whether a condition leaves some out, the loop or None)."""
    for one in ast.walk(function):
        if isinstance(one, ast.For) and any(isinstance(s, ast.Assert) for s in one.body):
            yield one.lineno, one.iter, False, one
        if isinstance(one, ast.Assert):
            for all_of in filter(is_all, ast.walk(one.test)):
                given = all_of.args[0]
                if isinstance(given, (ast.GeneratorExp, ast.ListComp)):
                    yield from ((one.lineno, g.iter, bool(g.ifs), None) for g in given.generators)
                else:
                    yield one.lineno, given, False, None


def literals(body):
    return {target.id for one in body if isinstance(one, ast.Assign)
            and holds_something(one.value, ()) for target in one.targets
            if isinstance(target, ast.Name)}


def problems(text):
    """Lines, and what is gone through there."""
    tree = ast.parse(text)
    written, lines = literals(tree.body), ["", *text.split("\n")]
    found = {}
    for function in (one for one in ast.walk(tree) if isinstance(one, FUNCTION)):
        constants = written | literals(function.body)
        for line, given, left_out, loop in iterables(function):
            if "may be empty: " in lines[line] + lines[line - 1]:
                continue
            if left_out or not holds_something(given, constants) and not (
                    names_in(given) & asserted(function, loop)):
                found[line] = ast.unparse(given)
    return sorted(found.items())


def main():
    paths = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "tests"], cwd=ROOT,
                           check=True, capture_output=True, text=True).stdout.split("\n")
    found = [f"{path}:{line}: nothing shows that this holds something: {given}"
             for path in paths if path.endswith(".py") and (ROOT / path).is_file()
             for line, given in problems((ROOT / path).read_text(encoding="utf-8"))]
    print("\n".join(found)) if found else None
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
