"""Programs whose threads stand at known places for a while. Each prints what must be found: a list
of "function:line" (line: the marked one of the source), outermost first, and the thread's name."""

import inspect
import json
import sys
import threading
import time

STAY = 0.4


def line_of(function, mark):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, text in enumerate(lines) if f"# {mark}" in text)


def expect(*places, thread="main"):
    frames = [f"{function.__qualname__ if sys.version_info >= (3, 11) else function.__name__}"
              f":{line_of(function, mark)}" for function, mark in places]
    print(json.dumps({"thread": thread, "frames": frames}))


def burn(seconds):
    """Of the thread's own time: a busy machine lets it run the less at once."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def sleeps():
    time.sleep(STAY)  # sleeps


def a_wait_in_a_call():
    sleeps()  # calls
    expect((a_wait_in_a_call, "calls"), (sleeps, "sleeps"))


def generates():
    for _ in range(3):
        burn(STAY / 3)  # burns
        yield 1


def a_generator():
    total = sum(generates())  # sums
    assert total == 3
    expect((a_generator, "sums"), (generates, "burns"))


async def awaits():
    burn(STAY)  # awaits
    return 1


async def outer():
    return await awaits()  # outer


def a_coroutine():
    try:
        outer().send(None)  # sends
    except StopIteration:
        pass
    expect((a_coroutine, "sends"), (outer, "outer"), (awaits, "awaits"))


def recurses(depth):
    if depth > 0:
        return recurses(depth - 1)  # deeper
    burn(STAY)  # bottom
    return 0


def recursion():
    recurses(3)  # starts
    expect((recursion, "starts"), *[(recurses, "deeper")] * 3, (recurses, "bottom"))


class Key:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        burn(STAY / 6)  # compares
        return self.value < other.value


def a_callback_from_c():
    sorted(map(Key, [3, 1, 2]))  # sorts
    expect((a_callback_from_c, "sorts"), (Key.__lt__, "compares"))


def in_an_except_block():
    try:
        raise ValueError
    except ValueError:
        burn(STAY)  # handles
    finally:
        pass
    expect((in_an_except_block, "handles"))


def works():
    burn(STAY)  # works


def another_thread():
    thread = threading.Thread(target=works, name="worker")
    thread.start()
    thread.join()
    expect((works, "works"), thread="worker")


def números():
    burn(STAY)  # stays


def names_beyond_ascii():
    números()  # calls
    expect((names_beyond_ascii, "calls"), (números, "stays"))


def goes_through_ours():
    from crosscut import _record

    _record.lead_calls(_record.around(recurses))
    recurses(2)  # starts
    expect((goes_through_ours, "starts"), *[(recurses, "deeper")] * 2, (recurses, "bottom"))


CASES = [a_wait_in_a_call, a_generator, a_coroutine, recursion, a_callback_from_c,
         in_an_except_block, another_thread, names_beyond_ascii,
         goes_through_ours]

if __name__ == "__main__":
    globals()[sys.argv[1]]()
