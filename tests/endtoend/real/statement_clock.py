"""Puts a clock on each statement of a script: the program's own truth of where its time goes.

clocked(text, ...) compiles the script with a call of line_clock in front of each statement. Lines
keep their numbers, so a recorded run of it names the same ones. A line has the time of its
statement without that of the script's own functions that it calls, and, in "below", of these.
Functions that a compiler traces (a decorator with `jit`, `compile`, `tf.function`) have no clocks.
"""

import ast
import importlib.util
import marshal
import pathlib
import re

_TRACED = re.compile(r"jit|compile|tf\.function|script_method")


class _Clocks(ast.NodeTransformer):
    def __init__(self, file, loop, counted):
        self.file, self.loop, self.counted = file, loop, counted
        self.headers = []  # of the loops around
        self.found_loop = loop == ""

    def key(self, node):
        return f"{self.file}:{node.lineno}"

    def call(self, node, function, *arguments):
        text = f"line_clock_.{function}({', '.join(map(repr, arguments))})"
        statement = ast.parse(text).body[0]
        for one in ast.walk(statement):
            ast.copy_location(one, node)
        return statement

    def at(self, node):
        return self.call(node, "at", self.key(node))

    def body(self, statements, docstring=False):
        out = []
        for statement in statements:
            if docstring and statement is statements[0] and _is_text(statement):
                out.append(statement)
                continue
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                out.append(statement)
                continue
            if not isinstance(statement, (ast.Try, ast.Global, ast.Nonlocal)):
                out.append(self.at(statement))
            made = self.visit(statement)
            out += made if isinstance(made, list) else [made]
            out += [self.call(statement, "count", what) for what in self.counted
                    if self.text(statement).startswith(what)]
        return out

    @staticmethod
    def text(statement):
        compound = hasattr(statement, "body") or isinstance(statement, ast.Try)
        return "" if compound else ast.unparse(statement)

    def visit_Module(self, node):
        node.body = self.body(node.body, docstring=True)
        future = [i for i, s in enumerate(node.body) if getattr(s, "module", "") == "__future__"]
        first = future[-1] + 1 if future else int(_is_text(node.body[0]))
        begin = ["import line_clock as line_clock_"]
        begin += ["line_clock_.enter_loop()"] if self.loop == "" else []
        node.body[first:first] = ast.parse("\n".join(begin)).body
        return node

    def visit_ClassDef(self, node):
        # Its methods alone: what it says of itself takes no time, and may be read by others.
        node.body = [self.visit(s) if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))
                     else s for s in node.body]
        return node

    def visit_FunctionDef(self, node):
        if any(_TRACED.search(ast.unparse(d)) for d in node.decorator_list):
            return node
        headers, self.headers = self.headers, []
        generator = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own_nodes(node))
        text = [node.body[0]] if _is_text(node.body[0]) else []
        body = self.body(node.body[len(text):]) or [ast.copy_location(ast.Pass(), node.body[0])]
        whole = ast.Try(body=[self.call(node.body[0], "enter"), *body], handlers=[], orelse=[],
                        finalbody=[self.call(node.body[0], "leave")])
        if generator:
            handler = ast.parse("try:\n pass\nexcept GeneratorExit:\n line_clock_.enter()\n"
                                " raise")
            whole.handlers = handler.body[0].handlers
        for one in ast.walk(whole):
            if not hasattr(one, "lineno"):
                ast.copy_location(one, node.body[0])
        node.body = [*text, ast.copy_location(whole, node.body[0])]
        self.headers = headers
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Yield(self, node):
        self.generic_visit(node)
        inside = ast.copy_location(ast.Constant(None), node) if node.value is None else node.value
        node.value = self.wrap(node, "suspend", inside)
        return self.wrap(node, "resume", ast.copy_location(ast.Constant(self.key(node)), node),
                         node)

    def visit_Await(self, node):
        self.generic_visit(node)
        node.value = self.wrap(node, "suspend", node.value)
        return self.wrap(node, "resume", ast.copy_location(ast.Constant(self.key(node)), node),
                         node)

    @staticmethod
    def wrap(node, function, *arguments):
        call = ast.parse(f"line_clock_.{function}()", mode="eval").body
        for one in ast.walk(call):
            ast.copy_location(one, node)
        call.args = list(arguments)
        return call

    def visit_For(self, node):
        header = ast.unparse(node).splitlines()[0]
        self.headers.append(node)
        node.body = [*self.body(node.body), self.at(node)]
        self.headers.pop()
        node.orelse = self.body(node.orelse)
        if not self.loop or not header.startswith(self.loop):
            return node
        self.found_loop = True
        node.body.insert(0, self.call(node, "next_round"))
        whole = ast.Try(body=[self.call(node, "enter_loop"), node], handlers=[], orelse=[],
                        finalbody=[self.call(node, "leave_loop")])
        return ast.copy_location(whole, node)

    visit_While = visit_AsyncFor = visit_For

    def visit_Continue(self, node):
        return [self.at(self.headers[-1]), node]

    def visit_If(self, node):
        node.body, node.orelse = self.body(node.body), self.body(node.orelse)
        return node

    def visit_With(self, node):
        node.body = [*self.body(node.body), self.at(node)]
        return node

    visit_AsyncWith = visit_With

    def visit_Try(self, node):
        for name in ("body", "orelse", "finalbody"):
            setattr(node, name, self.body(getattr(node, name)))
        for handler in node.handlers:
            handler.body = self.body(handler.body)
        return node

    def visit_Lambda(self, node):
        return node


def _is_text(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _own_nodes(function):
    """Those of a function without those of the functions in it."""
    rest = list(function.body)
    while rest:
        node = rest.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            rest += ast.iter_child_nodes(node)


def clock_file(source, target, loop=None, counted=()):
    """Writes `target` (.pyc) of the script `source`. Time and rounds are those of the loop whose
    header begins with `loop` ("": all that the script does); statements that begin with one of
    `counted` are counted. Whether it has the loop."""
    source = pathlib.Path(source)
    tree = ast.parse(source.read_text())
    clocks = _Clocks(source.name, loop, counted)
    tree = ast.fix_missing_locations(clocks.visit(tree))
    code = compile(tree, str(source), "exec")
    head = importlib.util.MAGIC_NUMBER + bytes(12)
    pathlib.Path(target).write_bytes(head + marshal.dumps(code))
    return clocks.found_loop


def statements(source):
    """The last line of the statement that begins in a line, by line; of a loop or an `if`, of its
    header."""
    ends = {}
    for node in ast.walk(ast.parse(pathlib.Path(source).read_text())):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            ends[node.lineno] = body[0].lineno - 1 if body else node.end_lineno
    return ends
