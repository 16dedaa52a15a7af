"""Hands the shares of a run's steps to dashboards: one call each.

    crosscut.hand_over.tensorboard("run", "logs")
    crosscut.hand_over.wandb("run")        # offline, unless WANDB_MODE or a run of yours says else
    crosscut.hand_over.mlflow("run")       # wherever MLflow's tracking URI points

Each step that was observed becomes one point, at its number: how long it took
(`crosscut/step_ms`), and for every set of layers the share of the step in which just these were
active (`crosscut/share/framework+python`), between 0 and 1. The shares of a step add up to 1; they
are cells of the table `step_layers` divided by the step's wall time in the table `steps`. Control
steps, and a last step whose end is not known, are left out. Where several processes have steps, or
there are several kinds of them, their names stand in front.
"""

from __future__ import annotations

import importlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crosscut.reading import Run, read

if TYPE_CHECKING:
    from typing import TypeAlias

    AnyRun: TypeAlias = "Run | str | os.PathLike[str]"

_BATCH = 1000  # metrics that MLflow takes at once


@dataclass(frozen=True)
class StepValues:
    """What is handed over of one step."""

    number: int
    values: dict[str, float]  # by name


def steps(run: AnyRun) -> Iterator[StepValues]:
    """The observed steps of a run, in order of time, with what the other functions hand over."""
    run = run if isinstance(run, Run) else read(run)
    observed = run.table("steps", where=("control = 0", "open = 0", "wall_ns > 0"), sort="begin_ns")
    numbers, walls = observed.column("step", int), observed.column("wall_ns", int)
    begins = observed.column("begin_ns", int)
    owners, kinds = observed.column("process", str), observed.column("kind", str)
    parts = _parts(run)
    every = sorted({layers for step in zip(owners, begins) for layers in parts[step]})
    titles = _titles(run) if len(set(owners)) > 1 else {}
    for owner, number, begin, kind, wall in zip(owners, numbers, begins, kinds, walls):
        front = "/".join(filter(None, ("crosscut", titles.get(owner),
                                       kind if len(set(kinds)) > 1 else "")))
        of_step = parts[owner, begin]
        yield StepValues(number, {
            f"{front}/step_ms": wall / 1e6,
            **{f"{front}/share/{layers}": of_step.get(layers, 0) / wall for layers in every}})


def _parts(run: Run) -> defaultdict[tuple[str, int], dict[str, int]]:
    """ns by set of layers, of each step, by when it began: several may have one number."""
    table = run.table("step_layers")
    parts: defaultdict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for owner, begin, layers, device, ns in zip(
            table.column("process", str), table.column("begin_ns", int),
            table.column("layers", str), table.column("device", int), table.column("ns", int)):
        name = "+".join(filter(None, (layers, "device" if device else "")))
        parts[owner, begin][name or "unknown"] = ns
    return parts


def _titles(run: Run) -> dict[str, str]:
    """What the processes are called."""
    table = run.table("processes")
    return {key: f"{name} (pid {pid})" for key, name, pid in zip(
        table.column("process", str), table.column("name", str), table.column("pid", int))}


def tensorboard(run: AnyRun, logdir: str | os.PathLike[str]) -> int:
    """Writes TensorBoard's event file into `logdir`; how many steps it has."""
    writer = _needed("tensorboard.summary", "tensorboard").Writer(os.fspath(logdir))
    count = 0
    try:
        for count, step in enumerate(steps(run), 1):
            for name, value in step.values.items():
                writer.add_scalar(name, value, step.number)
    finally:
        writer.close()
    return count


def wandb(run: AnyRun) -> int:
    """Logs to the Weights & Biases run that is going on, else to a new one of the project
    "crosscut", offline unless WANDB_MODE says otherwise; how many steps. Their numbers are the
    metric `crosscut/step`, so they do not move a run's own step."""
    library = _needed("wandb", "wandb")
    own = None
    if library.run is None:
        own = library.init(project="crosscut", mode=os.environ.get("WANDB_MODE") or "offline",
                           name=_name(run))
    target = own or library.run
    count = 0
    try:
        target.define_metric("crosscut/step")
        target.define_metric("crosscut/*", step_metric="crosscut/step")
        for count, step in enumerate(steps(run), 1):
            target.log({"crosscut/step": step.number, **step.values})
    finally:
        if own is not None:
            own.finish()
    return count


def mlflow(run: AnyRun) -> int:
    """Logs to the MLflow run that is active, else to a new one, at the tracking URI that is set;
    how many steps. MLflow's names have no "+": the layers are joined by " and "."""
    library = _needed("mlflow", "mlflow")
    active = library.active_run()
    target = active or library.start_run(run_name=_name(run))
    client, entities = library.MlflowClient(), importlib.import_module("mlflow.entities")
    now, count = int(time.time() * 1000), 0
    batch: list[Any] = []
    try:
        for count, step in enumerate(steps(run), 1):
            batch += [entities.Metric(name.replace("+", " and "), value, now, step.number)
                      for name, value in step.values.items()]
            while len(batch) >= _BATCH:
                client.log_batch(target.info.run_id, metrics=batch[:_BATCH])
                del batch[:_BATCH]
        if batch:
            client.log_batch(target.info.run_id, metrics=batch)
    finally:
        if active is None:
            library.end_run()
    return count


def _name(run: AnyRun) -> str:
    return os.path.basename(os.path.abspath(run.path if isinstance(run, Run) else run))


def _needed(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if not module.startswith(missing.name or "?"):
            raise
        raise ModuleNotFoundError(f"hand_over.{package}() needs {package}: pip install {package}",
                                  name=package) from None
