"""How a framework's own profiler is driven: parts, rests, room for the program's own."""

import time

import crosscut.adapters.profiles as profiles
import pytest


class Recorder:
    """What profiles.py uses of crosscut._record."""

    def __init__(self):
        self.collected_parts, self.states, self.code = [], [], 0
        self.dir, self.budget = "run", 0.0

    def budget_before_steps(self):
        return self.budget

    def unseen(self, function):
        return function

    def add_source(self, name, version, set_level):
        return 1

    def remove_source(self, handle):
        self.removed = handle

    def collected(self, source, kind, data, begin_ns, error_ns):
        self.collected_parts.append((source, kind, data, error_ns))
        return self.code

    def source_state(self, name, version, state, message):
        self.states.append((state, message))

    def run_dir(self):
        return self.dir

    def meta(self, key, value):
        pass

    def aside(self, function):
        return function()

    def error(self):
        return "an error"


class Profiler:
    """A framework's: one session at a time; collecting takes `seconds`."""

    def __init__(self):
        self.on, self.begun, self.seconds, self.busy, self.size = False, 0, 0.0, False, 10

    def begin(self):
        if self.busy:
            raise profiles.Busy("another session")
        assert not self.on
        self.on = True
        self.begun += 1

    def end(self):
        assert self.on
        self.on = False
        time.sleep(self.seconds)
        return b"x" * self.size


@pytest.fixture
def recorder(monkeypatch):
    fake = Recorder()
    monkeypatch.setattr(profiles, "_record", fake)
    monkeypatch.setattr(profiles.Profile, "_rounds", lambda self: None)  # tests call _round()
    monkeypatch.setattr(profiles.atexit, "register", lambda function: None)
    return fake


@pytest.fixture
def profiler():
    return Profiler()


@pytest.fixture
def profile(recorder, profiler):
    it = profiles.Profile("theirs", "1", profiler.begin, profiler.end)
    it.open()
    return it


def test_control_steps_are_without_it_and_keep_what_was_before(profile, profiler, recorder):
    profile.set_level(3)
    assert profiler.on and profile.running
    profile.set_level(0)
    assert not profiler.on
    assert recorder.collected_parts == [("theirs", "xspace", b"x" * 10, 1000)]
    profile.set_level(2)
    assert profiler.on


def test_it_runs_in_every_step_that_shows_operators_and_in_no_other(profile, profiler, recorder):
    profiler.seconds = 0.02  # however long the collecting takes: the plan's budget knows
    levels = [3, 1, 2, 4, 2, 0, 3, 0, 4, 1, 2, 1, 3, 4]
    for level in levels:
        profile.set_level(level)
        assert profiler.on == (level in (2, 3)), level
    assert len(recorder.collected_parts) == 6


@pytest.mark.parametrize("kinds, there", [(["cpu"], False), (["CPU"], False),
                                          (["cpu", "tpu"], True), (["GPU"], True)])
def test_where_it_may_be_all_that_shows_a_device_it_goes_on(profile, profiler, kinds, there):
    profile.set_level(1)
    profile.shows(*kinds)
    assert profiler.on == there
    profile.set_level(4)
    assert profiler.on == there
    profile.set_level(2)
    assert profiler.on
    profile.set_level(0)
    assert not profiler.on


def test_without_steps_its_parts_cost_half_of_the_budget(profile, profiler, recorder, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(profiles.time, "monotonic", lambda: now)
    profile._opened, recorder.budget = now, 0.02
    took = 0.04

    def end():
        nonlocal now
        now += took
        profiler.on = False
        return b"x"

    profile._end = end
    profile.set_level(3)
    on = 0.0
    while now < 2000.0:
        on += 0.05 if profiler.on else 0
        now += 0.05
        profile._round()
    spent = 2 * took * len(recorder.collected_parts)
    assert 0.009 * 1000 < spent < 0.0105 * 1000 + 0.25 + 2 * took
    assert on > 50 * 0.1  # and not less than that leaves
    recorder.budget = 0.0  # steps have begun
    profile._round()
    assert profiler.on


def test_a_new_session_does_not_wait_for_the_rest_of_the_last(profile, profiler, recorder):
    profiler.seconds = 0.2
    recorder.budget = 0.02
    profile.set_level(3)
    profile.set_level(0)
    profile.set_level(3)
    assert not profiler.on
    profile.set_level(0)
    recorder.dir = "another run"
    profile.set_level(3)
    assert profiler.on


def test_parts_end_by_themselves_and_the_next_begins(profile, profiler, recorder, monkeypatch):
    monkeypatch.setattr(profiles, "_FIRST_PART", 0.0)
    profile.set_level(3)
    profile._round()
    assert profiler.on and profiler.begun == 2 and len(recorder.collected_parts) == 1


def test_the_longer_collecting_takes_the_shorter_are_the_parts(profile, profiler):
    profiler.seconds = 0.1
    profile.set_level(3)
    profile._began = time.monotonic() - 0.2
    profile.set_level(0)
    assert profile._part_seconds() == pytest.approx(0.1 * 0.2 / profile._took, rel=0.1)
    profile._rate = 100.0
    assert profile._part_seconds() == 0.1
    profile._rate = 1e-6
    assert profile._part_seconds() == 4.0


def test_the_programs_own_profile_goes_first(profile, profiler, recorder):
    profile.set_level(3)
    profile.theirs_begins()
    assert not profiler.on and recorder.states[-1][0] == "conflict"
    profile.theirs_begins()
    profile.theirs_ended()
    assert not profiler.on
    profile.theirs_ended()
    assert profiler.on
    profile.set_level(0)
    assert recorder.states[-1][0] == "on"
    assert "off while the program profiles itself" in recorder.states[-1][1]


def test_where_another_session_holds_the_lock_it_tries_again(profile, profiler):
    profiler.busy = True
    profile.set_level(3)
    assert not profile.running
    profiler.busy = False
    profile._round()
    assert profiler.on


def test_beside_a_profiler_server_it_stays_off(profile, profiler, recorder):
    profile.set_level(3)
    profile.never_again("off: a server")
    profile.set_level(0)
    profile.set_level(3)
    assert not profiler.on and "off: a server" in recorder.states[-1][1]


def test_it_stops_for_good_at_its_limit_and_says_so(recorder, profiler, monkeypatch):
    monkeypatch.setenv("CROSSCUT_PROFILE_MIB", "1")
    profile = profiles.Profile("theirs", "1", profiler.begin, profiler.end)
    profile.open()
    profiler.size = (1 << 20) + 1
    profile.set_level(3)
    profile.set_level(0)
    profile.set_level(3)
    assert not profiler.on
    assert "CROSSCUT_PROFILE_MIB" in recorder.states[-1][1]


def test_the_exit_keeps_the_last_part(profile, profiler, recorder):
    profile.set_level(3)
    profile.close()
    assert not profiler.on and len(recorder.collected_parts) == 1 and recorder.removed == 1


def test_the_exit_cuts_what_would_take_too_long(profile, profiler, recorder):
    profile.set_level(3)
    profile._rate, profile._began = 1.0, time.monotonic() - 3.0
    begin = time.monotonic()
    profile.close()
    assert time.monotonic() - begin < profiles.EXIT_SECONDS
    assert recorder.collected_parts == [] and "parts cut: 1" in recorder.states[-1][1]


def test_what_breaks_is_told_and_never_tried_again(profile, profiler, recorder):
    def broken():
        raise ValueError("no")

    profile._begin = broken
    profile.set_level(3)
    assert recorder.states[-1] == ("failed", "ValueError: no")
    profile._begin = profiler.begin
    profile.set_level(3)
    assert not profiler.on


def test_a_part_that_the_run_refuses_counts_as_cut(profile, recorder):
    recorder.code = 4
    profile.set_level(3)
    profile.set_level(0)
    assert profile._cut == 1 and profile._parts == 0


def test_a_forked_child_is_left_alone(profile, profiler):
    profile.set_level(3)
    profile._lock.acquire()
    profile._forked()
    profile.set_level(0)
    profile.set_level(3)
    assert profiler.begun == 1
