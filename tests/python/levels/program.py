"""Draws programs, runs them recorded, and keeps a log of its own: what each thread did when, and
when recording changed. Runs in the interpreter under test:

    python program.py RUN SEED COUNT LOG

A program is a tree of calls of a few functions and generators, on one thread or several, that
raise, catch, throw into generators and close them, mark operations, are called back by native
code, and anywhere in it change the level of recording, pause it, or end and begin the session.
"""

import functools
import gc
import pickle
import random
import sys
import threading
import time

import crosscut
from crosscut import _pycalls

NAMES = 5          # of functions, and of generators
NATIVE = "_functools.reduce"
PLAN = "boundary=20,operators=10,everything=50"
clock = time.monotonic_ns
local = threading.local()
control = threading.Lock()


class Boom(Exception):
    pass


class Program:
    def __init__(self, number, seed):
        self.number = number
        self.random = random.Random(seed)
        self.left = self.random.choice((6, 12, 25, 60))  # nodes
        self.threads, self.begun = [], 0

    def acts(self, depth):
        """What one call does: (kind, ...) each."""
        draw, acts = self.random, []
        for _ in range(draw.randint(depth > 2 and -1, 5 if depth else 8)):
            if self.left <= 0 or depth > 8:
                break
            kind = draw.choices(KINDS, WEIGHTS)[0]
            inner = ()
            if kind in WITH_NODE:
                self.left -= 1
                inner = (draw.randrange(NAMES), self.acts(depth + 1), draw.random() < .6)
            elif kind == "operation":
                inner = (draw.randrange(3), self.acts(depth + 1))
            elif kind == "resume":
                inner = (draw.random(), draw.choice(HOWS))
            elif kind == "change":
                inner = (draw.choices(CHANGES, (8, 2, 1))[0],)
            acts.append((kind, *inner))
        return acts


WITH_NODE = ("call", "generator", "reduce", "sorted", "thread")
KINDS = (*WITH_NODE, "operation", "resume", "change", "sleep", "raise", "yield", "join")
WEIGHTS = (12, 3, 2, 1, 1, 2, 6, 6, 2, 1, 4, 1)
HOWS = ("next", "next", "send", "throw", "close", "drop")
CHANGES = ("step", "pause", "restart")


# ---- What is recorded, by our own account --------------------------------------------------------

class Changes:
    """[(begin, end, calls before, calls after, phase after, thread of a step)]: when what is
    recorded changed; no thread where it was no step. Of the phases nothing is recorded in "hidden",
    but what began in it goes on behind; nothing at all in "off"."""

    def __init__(self, run, seed):
        self.run, self.seed, self.all = run, seed, []

    def state(self):
        stats = _pycalls.stats()
        return bool(stats["calls"]), "on" if stats["enabled"] else "hidden"

    def make(self, change):
        before, begun = self.state()[0], clock()
        change()
        ended, (calls, phase) = clock(), self.state()
        phase = "off" if change is crosscut.stop else phase
        steps = local.name if change is crosscut.step else ""
        self.all.append((begun, ended, before, calls, phase, steps))

    def start(self):
        assert crosscut.start(self.run, python="calls", plan=PLAN, control_percent=20,
                              seed=self.seed, memory_mib=512), crosscut.error()

    def step(self):
        self.make(crosscut.step)

    def pause(self):
        self.make(crosscut.pause)
        self.make(crosscut.resume)

    def restart(self):
        self.make(crosscut.stop)
        self.make(self.start)


# ---- The functions -------------------------------------------------------------------------------

def act(program, one):
    """Does everything but to yield. No function of the comparison."""
    log = local.log
    kind = one[0]
    log(("-", clock()))
    if kind == "call":
        try:
            functions[one[1]]((program, one[2]))
        except Boom:
            if not one[3]:
                raise
    elif kind == "reduce":
        log(("[", clock(), NATIVE))
        try:
            functools.reduce(functions[one[1]], ((program, one[2]), None))
        except Boom:
            if not one[3]:
                raise
        finally:
            log(("]", clock(), NATIVE))
    elif kind == "sorted":
        sorted(((program, one[2]),), key=catching[one[1]])
    elif kind == "generator":
        local.pool.append([generators[one[1]]((program, one[2])), False])
    elif kind == "resume":
        resume(one[1], one[2])
    elif kind == "operation":
        name = f"o{one[1]}"
        log(("[", clock(), name))
        try:
            with crosscut.operation(name):
                for inner in one[2]:
                    if inner[0] != "yield":
                        act(program, inner)
        finally:
            log(("]", clock(), name))
    elif kind == "thread":
        program.begun += 1
        name = f"p{program.number}t{program.begun}"
        thread = threading.Thread(target=on_thread, args=(name, program, one), name=name)
        with control:  # between two sessions nobody is told its name
            thread.start()
        program.threads.append(thread)
    elif kind == "join" and program.threads:
        if threading.current_thread() is main:
            program.threads[-1].join()
    elif kind == "change":
        with control:
            getattr(changes, one[1])()
    elif kind == "sleep":
        time.sleep(0)
    elif kind == "raise":
        log(("-", clock()))
        raise Boom
    log(("-", clock()))


def resume(which, how):
    pool = local.pool
    if not pool:
        return
    at = int(which * len(pool))
    generator, begun = pool[at]
    if how == "drop" and begun:
        pool.pop(at)
        del generator  # which closes it
        return
    pool[at][1] = True
    try:
        if how == "next" or not begun:  # CPython runs a generator to close it before its begin
            next(generator)
        elif how == "send":
            generator.send(1)
        elif how == "throw":
            generator.throw(Boom())
        else:
            generator.close()
    except (StopIteration, Boom, ValueError):  # ValueError: it runs already
        pass


def function(node, _=None):
    local.log(("B", clock(), NAME))
    try:
        for one in node[1]:
            if one[0] != "yield":
                act(node[0], one)
    finally:
        local.log(("E", clock(), NAME))
    return 0


def generator(node):
    local.log(("B", clock(), NAME))
    try:
        for one in node[1]:
            if one[0] != "yield":
                act(node[0], one)
                continue
            local.log(("E", clock(), NAME))
            try:
                yield 1
            finally:
                local.log(("B", clock(), NAME))
    except Boom:
        pass
    finally:
        local.log(("E", clock(), NAME))


def named(made, name):
    more = {"co_qualname": name} if sys.version_info >= (3, 11) else {}
    code = made.__code__.replace(co_name=name, **more)
    return type(made)(code, {**globals(), "NAME": name}, name, made.__defaults__)


def on_thread(name, program, one):
    local.name, local.log, local.pool = name, logs.setdefault(name, []).append, []
    run(program, one)


def run(program, one):
    try:
        functions[one[1]]((program, one[2]))
    except Boom:
        pass
    while local.pool:
        local.log(("-", clock()))
        if local.pool[-1][1]:
            local.pool.pop()
        else:
            resume(1 - 1 / (2 * len(local.pool)), "next")
    local.log(("-", clock()))


def main_of(program):
    run(program, ("call", 0, program.acts(0)))
    for thread in program.threads:
        thread.join()
    local.log(("-", clock()))


run_dir, seed, count, log_file = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
main = threading.current_thread()
functions = []
generators = []
catching = []


def caught(function):
    def call(node):
        try:
            return function(node)
        except Boom:
            return 0
    return call


gc.disable()
sys.setswitchinterval(1000)
changes = Changes(run_dir, seed + 1)
for i in range(NAMES):
    functions.append(named(function, f"f{i}"))
    generators.append(named(generator, f"g{i}"))
for made in functions + generators:
    made.__globals__.update(act=act, local=local)
catching += map(caught, functions)
crosscut.wrap("_functools", names="reduce")
logs = {"main": []}
local.name, local.log, local.pool = "main", logs["main"].append, []
changes.make(changes.start)
for number in range(count):
    main_of(Program(number, seed * 1_000_003 + number))
changes.make(crosscut.stop)
with open(log_file, "wb") as file:
    pickle.dump({"threads": logs, "changes": changes.all}, file)
