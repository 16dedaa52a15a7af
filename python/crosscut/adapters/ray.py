"""Brings Ray into the run without an edit of the program: what calls, and what waits.

install_*() are called right after the module they are named after was imported in a recorded
process, driver or worker. From then on there are these spans of layer `comm`:

    NAME.remote  the call of a task, of an actor's method, of an actor's class
    ray.get      until the results are here; its arguments say whose
    ray.wait     until so many of them are
    ray.next     until a generator gives the next one
    ray.put      until the object is stored
    ray.connect  until Ray knows this process

An arrow leads from the call to the execution, and from there to the get, the wait or the `await`
that its result ended. What a worker executes is in ray_tasks.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from crosscut import _forks, _record, _wrap
from crosscut.adapters import operations, ray_tasks

_COMM = _wrap.LAYERS.index("comm") + 1
_MOST = 256     # arrows at one span
_NAMES = 4      # of tasks that a span says
_KNOWN = 8192   # calls whose names are remembered


class _Calls:
    """What this process asks of others. All of it under the GIL, on any thread."""

    def __init__(self, version: str) -> None:
        self.operations = operations.Operations()
        self.operations.add_source(version)
        self._open = threading.local()  # stack: (span, what is asked for)
        self._names: dict[bytes, str] = {}  # what was called, by task
        self._spans: dict[str, Any] = {}

    def replace(self, owner: Any, name: str, before: Callable[..., Any] | None = None,
                after: Callable[..., Any] | None = None, always: bool = False) -> None:
        """Tells `before` and `after` of calls of owner.name: while calls are recorded, or always,
        for what begins at one level of the step plan and ends at another."""
        function = vars(owner).get(name)
        if function is None:
            raise RuntimeError(f"this Ray has no {owner.__name__}.{name}")
        around = _record.around if always else self.operations.around
        self.operations.replace(owner, name, around(
            function, before=ray_tasks.guarded(before), after=ray_tasks.guarded(after)))

    def begin(self, name: str, asked: Any = None) -> bool:
        """Opens a span of layer comm, for end()."""
        span = self._spans.get(name)
        if span is None:
            span = _record.span(name, _COMM)
            if len(self._spans) < _KNOWN:
                self._spans[name] = span
        vars(self._open).setdefault("stack", []).append((span, asked))
        span.__enter__()
        return True

    def end(self) -> None:
        span, _ = self._open.stack.pop()
        span.__exit__(None, None, None)

    @property
    def asked(self) -> Any:
        """What the innermost open span is for."""
        return self._open.stack[-1][1]

    # ---- Calls ----

    def calls(self, name: Callable[..., str]) -> Callable[..., bool]:
        """What is told before a call by .remote(); `name` gets its arguments."""
        def begins(*args: Any, **kwargs: Any) -> bool:
            called = name(*args, **kwargs)
            return self.begin(f"{called}.remote", called)

        return begins

    def called(self, _: Any, result: Any, failed: bool) -> None:
        """Behind it: `result` is a reference, several, a generator of them, or an actor."""
        try:
            task = None if failed else ray_tasks.task_of(result)
            if task is not None:
                _record.flow_out(task)
                if len(self._names) >= _KNOWN:
                    del self._names[next(iter(self._names))]
                self._names[task] = self.asked
        finally:
            self.end()

    # ---- Waiting ----

    def waits(self, name: str, asked: Callable[..., Any]) -> Callable[..., bool]:
        """What is told before a wait for references; `asked` gets its arguments and says which."""
        def begins(*args: Any, **kwargs: Any) -> bool:
            references = asked(*args, **kwargs)
            # What is no list is the program's mistake, and Ray says so.
            asked_for = references if isinstance(references, list) else []
            self.begin(name, asked_for)
            ray_tasks.quietly(self._say, asked_for)
            return True

        return begins

    def _say(self, asked: list[Any]) -> None:
        """The span that was begun waits for these."""
        _record.arg("objects", len(asked))
        names = dict.fromkeys(filter(None, map(self._name_of, asked[:_MOST])))
        if names:
            said = list(names)[:_NAMES]
            more = len(names) - len(said)
            _record.arg("for", ", ".join(said) + (f" and {more} more" if more else ""))

    def _name_of(self, one: Any) -> str | None:
        binary = getattr(ray_tasks.reference(one), "binary", None)
        return None if binary is None else self._names.get(binary()[:-4])

    def got(self, _: Any, __: Any, failed: bool) -> None:
        try:
            if not failed:
                arrive(self.asked)
        finally:
            self.end()

    def waited(self, _: Any, result: Any, failed: bool) -> None:
        try:
            if not failed:
                arrive(result[0])
        finally:
            self.end()

    def stored(self, _: Any, reference: Any, failed: bool) -> None:
        try:
            if not failed:
                _record.flow_out(ray_tasks.key_of(reference), ray_tasks.RESULT)
        finally:
            self.end()

    def came(self, _: Any, reference: Any, failed: bool) -> None:
        """Behind a wait for what a generator gives next."""
        try:
            if not failed:
                arrive([reference])
        finally:
            self.end()

    def follow_awaits(self, references: type) -> None:
        """Arrows to where an `await` of a reference goes on."""
        def awaited(reference: Any, _: Any, failed: bool) -> None:
            if not failed:
                arrive([reference])

        if _record.follow_await(references, ray_tasks.guarded(awaited)):
            self.operations.on_undo(lambda: _record.follow_await(references, None))

    # ---- Ray itself ----

    def connected(self, _: Any, __: Any, failed: bool) -> None:
        self.end()
        if not failed:
            tell()

    @staticmethod
    def leave_out(on: bool) -> bool:
        _forks.leave_out_children(on)
        return True


def arrive(references: Iterable[Any]) -> None:
    """Arrows from where these were made to the innermost open span."""
    for number, one in enumerate(references):
        if number == _MOST:
            break
        _record.flow_in(ray_tasks.key_of(ray_tasks.reference(one)), ray_tasks.RESULT)


_calls: _Calls | None = None
_tasks: ray_tasks.Tasks | None = None


def _shared(version: str = "") -> tuple[_Calls, ray_tasks.Tasks]:
    global _calls, _tasks
    if _calls is None or _tasks is None:
        import ray

        version = str(getattr(ray, "__version__", "") or "")
        _calls = _Calls(version)
        _tasks = ray_tasks.Tasks(_calls.operations)
        _record.source_state("ray", version, "on", "")
    return _calls, _tasks


def install_worker(module: ModuleType) -> None:
    """After the import of ray._private.worker."""
    calls, tasks = _shared()
    worker = module.Worker
    calls.replace(worker, "get_objects",
                  calls.waits("ray.get", lambda _, object_refs, *__, **___: object_refs), calls.got)
    calls.replace(worker, "put_object", lambda *_, **__: calls.begin("ray.put"), calls.stored)
    calls.replace(module, "wait",
                  calls.waits("ray.wait", lambda ray_waitables=None, **_: ray_waitables),
                  calls.waited)
    calls.replace(module, "connect", lambda *_, **__: calls.begin("ray.connect"), calls.connected)
    tasks.install(module, calls.replace)
    calls.follow_awaits(module.ray._raylet.ObjectRef)
    tell()


def install_services(module: ModuleType) -> None:
    """After the import of ray._private.services. What it starts is none of the program's."""
    calls, _ = _shared()
    calls.replace(module, "start_ray_process", lambda *_, **__: calls.leave_out(True),
                  lambda *_: calls.leave_out(False) and None)


def install_generators(module: ModuleType) -> None:
    """After the import of ray._private.object_ref_generator."""
    calls, _ = _shared()
    calls.replace(module.ObjectRefGenerator, "_next_sync",
                  calls.waits("ray.next", lambda generator, *_, **__: [generator]), calls.came)


def install_manager(module: ModuleType) -> None:
    """After the import of ray._private.function_manager."""
    calls, tasks = _shared()
    calls.replace(module.FunctionActorManager, "load_actor_class", after=tasks.actor_loaded,
                  always=True)


def install_functions(module: ModuleType) -> None:
    """After the import of ray.remote_function."""
    calls, _ = _shared()
    calls.replace(module.RemoteFunction, "_remote",
                  calls.calls(lambda function, *_, **__: function._function.__qualname__),
                  calls.called)


def _method_name(handle: Any, method: str, *_: Any, **__: Any) -> str:
    cls = str(handle._ray_actor_creation_function_descriptor.class_name)
    return f"{cls.rpartition('.')[2]}.{method}"


def install_actors(module: ModuleType) -> None:
    """After the import of ray.actor."""
    calls, _ = _shared()
    calls.replace(module.ActorClass, "_remote",
                  calls.calls(lambda cls, *_, **__: cls.__ray_metadata__.class_name), calls.called)
    calls.replace(module.ActorHandle, "_actor_method_call", calls.calls(_method_name),
                  calls.called)


def tell() -> None:
    """States what this process is to Ray, if it is anything yet."""
    if _tasks is not None:
        ray_tasks.quietly(_tasks.tell)


def withdraw() -> None:
    """Puts back everything that was changed."""
    global _calls, _tasks
    if _calls is not None:
        _calls.operations.undo()
        _calls = _tasks = None
