"""What a process of Ray executes: tasks, methods of an actor, and what comes before and after.

Each execution is an operation under its own name (`Rollout.sample`). Around it lie the spans
`ray.arguments`, until its arguments are here and read, and `ray.results`, until what it returned is
stored. Outside of both a thread that executes tasks is idle: it waits for the next one.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from crosscut import _patches, _record, _source_state, _wrap

_COMM, _IDLE, _PYTHON = (_wrap.LAYERS.index(layer) + 1 for layer in ("comm", "idle", "python"))
RESULT = 1  # the part of an arrow from a result, or what was put; a call's has part 0
# The number of an object among its task's, its last four bytes: those of ray.put() begin here.
_FIRST_PUT = 100_000_000
_told: set[str] = set()
_MOST_NAMES = 100  # of tasks; a program that numbers them gets the function's name from then on


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls it; what it raises, in a Ray that we do not know, is told once and goes no further."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        problem(error)
        return None


def problem(error: Exception) -> None:
    """Tells once of what failed."""
    text = f"{type(error).__name__}: {error}"
    if text not in _told and len(_told) < 10:
        _told.add(text)
        _source_state.report_failure("ray", error)


def guarded(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The function, quietly."""
    return None if function is None else partial(quietly, function)


def _python_threads() -> Any:
    """Those that Python started, by their number."""
    return getattr(sys.modules.get("threading"), "_active", ())


def key_of(ref: Any) -> bytes:
    """What both ends of an arrow know a result, or what was put, by."""
    binary: bytes = ref.binary()
    put = int.from_bytes(binary[-4:], "little") >= _FIRST_PUT
    return binary if put else binary[:-4]


def task_of_actor(actor: Any) -> bytes:
    """The task that makes the actor of that id."""
    created: bytes = sys.modules["ray"].TaskID.for_actor_creation_task(actor).binary()
    return created


class Tasks:
    """What this process executes. All of it under the GIL, on the threads that Ray has."""

    def __init__(self, patches: _patches.Patches) -> None:
        self._patches = patches
        self._named: dict[str, Any] = {}  # operations, by name
        self._functions: weakref.WeakSet[Any] = weakref.WeakSet()  # methods that are followed
        self._arguments = _record.span("ray.arguments", _COMM)
        self._results = _record.span("ray.results", _COMM)
        self._here = threading.local()
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = {}  # of tasks that are no actor's
        self._mostly = ""
        self._actor: dict[str, str] = {}  # facts
        self._worker: Any = None

    def install(self, module: ModuleType, replace: Callable[..., None]) -> None:
        """`module`: ray._private.worker."""
        self._worker = module.global_worker
        replace(module, "_changeproctitle", always=True, after=guarded(
            lambda title, around, failed: None if failed else self._around(title, around)))
        replace(module.Worker, "record_task_log_start", always=True, before=guarded(
            lambda _, task, *__: self._executes(task.binary())))
        replace(module.Worker, "record_task_log_end", always=True, before=guarded(
            lambda _, task, *__: self._executed(task.binary())))
        replace(module.Worker, "deserialize_objects", _record.remote_reads(guarded(self._reads)))
        manager = getattr(self._worker, "function_actor_manager", None)
        if manager is not None and self._is_async():  # a session that begins late
            self._follow_methods(manager)

    # ---- Who this is ----

    def tell(self) -> None:
        """States the facts of this process, in each session anew."""
        worker = self._worker
        ray = sys.modules["ray"]
        if worker is None or not worker.connected:
            return
        facts = {"ray_version": str(ray.__version__), "ray_job": worker.current_job_id.hex(),
                 "node_id": worker.current_node_id.hex()}
        if worker.mode == ray.WORKER_MODE:
            actor = worker.actors.get(worker.actor_id)
            if actor is not None and not self._actor:  # a session that begins late
                self._actor = self._facts_of(type(actor))
            facts |= {"role": "worker", "ray_worker": worker.worker_id.hex()} | self._actor
            _record.process_name(self._name_of_process())
        else:
            facts["role"] = "driver"
        for key, value in facts.items():
            _record.meta(key, value)

    def _name_of_process(self) -> str:
        if self._actor:
            return f"{self._actor['actor_class']} ({self._actor['actor']})"
        return f"ray worker ({self._mostly})" if self._mostly else "ray worker"

    def actor_loaded(self, manager: Any, cls: Any, failed: bool) -> None:
        """Its class was loaded, as before the first of its methods."""
        if failed or self._worker is None or self._worker.actor_id.is_nil():
            return
        if not self._actor:
            self._actor = self._facts_of(cls)
            self.tell()
        if self._is_async():
            self._follow_methods(manager)

    def _facts_of(self, cls: type) -> dict[str, str]:
        """Of the actor that this process is."""
        actor, name = self._worker.actor_id.hex(), str(self._worker.actor_name or "")
        return {"role": "actor", "actor": name or actor[:8], "actor_id": actor,
                "actor_class": cls.__name__, "actor_name": name}

    def _is_async(self) -> bool:
        core = getattr(self._worker, "core_worker", None)
        return core is not None and bool(core.current_actor_is_asyncio())

    # ---- Threads that execute one task at a time ----

    def _around(self, title: str, around: Any) -> Any:
        if not self._is_async():
            return _Title(self, title, around)
        _record.base(_IDLE)  # this thread only hands over to the loop's, and waits for it
        return None

    def begins(self, title: str) -> None:
        """A task is here; its arguments may not be. `title`: "ray::" and what it is called."""
        _record.base(_PYTHON)
        self._here.title = title.removeprefix("ray::").removesuffix("()")
        self._here.references = []
        _record.remote_reads_again()
        self._here.span = self._arguments
        self._arguments.__enter__()

    def ends(self) -> None:
        """All of it is done, and its result stored."""
        span, self._here.span = vars(self._here).get("span"), None
        if span is not None:
            span.__exit__(None, None, None)
        _record.base(_IDLE)

    def _reads(self, _: Any, __: Any, references: Any, *___: Any, **____: Any) -> bool:
        """Objects are read: where a task waits for its arguments, they are those. False: there is
        no more to learn of this thread."""
        here = vars(self._here)
        if here.get("span") is self._arguments:
            # Not themselves: what they refer to would stay in the object store.
            here["references"] = [key_of(one) for one in references]
            return True
        if "rests" not in here:
            here["rests"] = threading.get_ident() not in _python_threads()
            if here["rests"]:  # a thread of Ray's own, which now and then calls Python
                with self._lock:  # its first call of native code makes it one of Python's
                    pass
                _record.base(_IDLE)
        return False

    def _executes(self, task: bytes) -> bool:
        if self._is_async():
            return True
        here = vars(self._here)
        span, here["span"] = here.get("span"), None
        if span is not None:
            span.__exit__(None, None, None)
        name = self._name(here.pop("title", ""))
        if name is None:
            return True
        here["operation"], here["began"] = (name, self._operation(name)), time.monotonic()
        here["operation"][1].__enter__()
        _record.flow_in(task)
        for key in here.pop("references", ()):
            _record.flow_in(key, RESULT)
        return True

    def _executed(self, task: bytes) -> bool:
        here = vars(self._here)
        name, operation = here.pop("operation", (None, None))
        if operation is None:
            return True
        _record.flow_out(task, RESULT)
        operation.__exit__(None, None, None)
        here["span"] = self._results
        self._results.__enter__()
        if not self._actor:
            self._count(name, time.monotonic() - here["began"])
        return True

    def _count(self, name: str, seconds: float) -> None:
        """The worker is known by what it mostly did."""
        if name in self._seconds or len(self._seconds) < _MOST_NAMES:
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds
        mostly = max(self._seconds, key=self._seconds.__getitem__)
        if mostly != self._mostly:
            self._mostly = mostly
            _record.process_name(self._name_of_process())

    def _name(self, called: str) -> str | None:
        """What a task that is `called` so is known as; None for Ray's own."""
        if ".__ray_terminate__" in called:
            return None
        init = f"{self._actor.get('actor_class', '')}.__init__"
        if self._actor and called.endswith(init):
            return init  # Ray puts the actor's name before it
        if called not in self._named and len(self._named) >= _MOST_NAMES:
            called = str(getattr(self._worker, "current_task_function_name", ""))
        return called or "task"

    def _operation(self, name: str) -> Any:
        operation = self._named.get(name)
        if operation is None:
            operation = self._named[name] = _record.found_operation(name)
        return operation

    # ---- Loops that run many at once ----

    def _follow_methods(self, manager: Any) -> None:
        """A coroutine's operation is open while it runs, not while it is suspended."""
        for known in (manager._function_execution_info, manager.execution_infos):
            for key, info in list(known.items()):
                if not self._is_followed(info.function):
                    self._patches.replace(known, key, info._replace(
                        function=self._followed(info.function)))

    def _is_followed(self, executor: Any) -> bool:
        if not isinstance(executor, types.FunctionType):
            return isinstance(executor, _record.around)
        known = executor in self._functions  # its calls come here from all its places
        self._functions.add(executor)
        return known

    def _followed(self, executor: Any) -> Any:
        method, name = getattr(executor, "method", executor), getattr(executor, "name", "")

        def called() -> str | None:
            return self._name(str(getattr(self._worker, "current_task_name", "") or
                                  f"{self._actor.get('actor_class', '')}.{name}"))

        if inspect.isasyncgenfunction(method):
            return _record.around(executor, after=guarded(
                lambda _, it, failed: None if failed else self._awaits_each(it, name)))
        if inspect.iscoroutinefunction(method):
            return _record.around(executor, after=guarded(
                lambda _, it, failed: None if failed else self._awaits(it, called())))
        return _record.around(executor, before=guarded(lambda *_, **__: self._calls(called())),
                              after=guarded(self._called))

    def _awaits(self, coroutine: Any, name: str | None) -> Any:
        if name is None:
            return None
        return _record.awaiting(coroutine, self._operation(name), self._task(),
                                lambda task, *_: _record.flow_in(task),
                                lambda task, *_: _record.flow_out(task, RESULT))

    def _awaits_each(self, generator: Any, method: str) -> Any:
        """Its items are results, each from where it was given. It is made on a thread that does not
        know which task it is, and runs where that is known."""
        operation = self._operation(f"{self._actor.get('actor_class', '')}.{method}")
        return _record.awaiting_each(
            generator, operation, guarded(lambda *_: _record.flow_in(self._task())),
            guarded(lambda *_: _record.flow_out(self._task(), RESULT)))

    def _task(self) -> bytes:
        task: bytes = self._worker.current_task_id.binary()
        return task

    def _calls(self, name: str | None) -> bool:
        self._here.method = None if name is None else self._operation(name)
        if name is not None:
            self._here.method.__enter__()
            _record.flow_in(self._task())
        return True

    def _called(self, *_: Any) -> None:
        operation, self._here.method = self._here.method, None
        if operation is not None:
            _record.flow_out(self._task(), RESULT)
            operation.__exit__(None, None, None)


class _Title:
    """In the place of what Ray has around a task to set the process's title."""

    def __init__(self, tasks: Tasks, title: str, around: Any) -> None:
        self._tasks, self._title, self._around = tasks, title, around

    def __enter__(self) -> Any:
        quietly(self._tasks.begins, self._title)
        return self._around.__enter__()

    def __exit__(self, *error: Any) -> Any:
        try:
            return self._around.__exit__(*error)
        finally:
            quietly(self._tasks.ends)
