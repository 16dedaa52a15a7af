"""What stands for the package where the program is not recorded: STRESS_PLAIN."""

import contextlib


def operation(name):
    return contextlib.nullcontext()


def step(kind=None):
    return 0


def run_dir():
    return ""


def _nothing(*values, **options):
    return False


def error():
    return ""


counter = instant = active = start = stop = pause = resume = flush = snapshot = _nothing
