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

from collections.abc import Callable
from types import ModuleType
from typing import Any

from crosscut import _forks, _record, _wrap
from crosscut.adapters import operations, ray_tasks

_COMM = _wrap.LAYERS.index("comm") + 1


class _Calls:
    """What this process asks of others. All of it under the GIL, on any thread. What is told of a
    call or a wait is C."""

    def __init__(self, version: str) -> None:
        self.operations = operations.Operations()
        self.operations.add_source(version)
        (self.called, self.got, self.waited, self.came, self.stored,
         self.awaited) = _record.remote_ends(ray_tasks.problem, ray_tasks.task_of_actor)

    def replace(self, owner: Any, name: str, before: Callable[..., Any] | None = None,
                after: Callable[..., Any] | None = None, always: bool = False) -> None:
        """Tells `before` and `after` of calls of owner.name: while calls are recorded, or always,
        for what begins at one level of the step plan and ends at another."""
        function = vars(owner).get(name)
        if function is None:
            raise RuntimeError(f"this Ray has no {owner.__name__}.{name}")
        around = _record.around if always else self.operations.around
        self.operations.replace(owner, name, around(
            function, before=before, after=after))

    @staticmethod
    def calls(*path: str, method: bool = False) -> Any:
        """What is told before a call by .remote(): attributes of its first argument name it."""
        return _record.remote_call(ray_tasks.problem, path, method)

    @staticmethod
    def waits(name: str, place: int = -1, keyword: str | None = None) -> Any:
        """What is told before a wait for references, which are that argument, or what it gives."""
        return _record.remote_wait(ray_tasks.problem, _record.span(name, _COMM), place, keyword)

    def follow_awaits(self, references: type) -> None:
        """Arrows to where an `await` of a reference goes on."""
        if _record.follow_await(references, self.awaited):
            self.operations.on_undo(lambda: _record.follow_await(references, None))

    # ---- Ray itself ----

    def follow_connecting(self, module: ModuleType) -> None:
        """What this process is to Ray is stated whatever is recorded then."""
        connect = self.operations.around(
            module.connect, span=_record.span("ray.connect", _COMM), always=True,
            after=lambda _, __, failed: None if failed else tell())
        self.operations.replace(module, "connect", connect)

    @staticmethod
    def leave_out(on: bool) -> bool:
        _forks.leave_out_children(on)
        return True


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
                  calls.waits("ray.get", 1, "object_refs"), calls.got)
    calls.replace(worker, "put_object", calls.waits("ray.put"), calls.stored)
    calls.replace(module, "wait", calls.waits("ray.wait", 0, "ray_waitables"), calls.waited)
    calls.follow_connecting(module)
    tasks.install(module, calls.replace)
    calls.follow_awaits(module.ray._raylet.ObjectRef)
    tell()


def install_services(module: ModuleType) -> None:
    """After the import of ray._private.services. What it starts is none of the program's."""
    calls, _ = _shared()
    calls.replace(module, "start_ray_process",
                  ray_tasks.guarded(lambda *_, **__: calls.leave_out(True)),
                  ray_tasks.guarded(lambda *_: calls.leave_out(False) and None), always=True)


def install_generators(module: ModuleType) -> None:
    """After the import of ray._private.object_ref_generator."""
    calls, _ = _shared()
    calls.replace(module.ObjectRefGenerator, "_next_sync",
                  calls.waits("ray.next", 0), calls.came)


def install_manager(module: ModuleType) -> None:
    """After the import of ray._private.function_manager."""
    calls, tasks = _shared()
    calls.replace(module.FunctionActorManager, "load_actor_class",
                  after=ray_tasks.guarded(tasks.actor_loaded), always=True)


def install_functions(module: ModuleType) -> None:
    """After the import of ray.remote_function."""
    calls, _ = _shared()
    calls.replace(module.RemoteFunction, "_remote",
                  calls.calls("_function", "__qualname__"), calls.called)


def install_actors(module: ModuleType) -> None:
    """After the import of ray.actor."""
    calls, _ = _shared()
    calls.replace(module.ActorClass, "_remote",
                  calls.calls("__ray_metadata__", "class_name"), calls.called)
    calls.replace(
        module.ActorHandle, "_actor_method_call",
        calls.calls("_ray_actor_creation_function_descriptor", "class_name", method=True),
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
