"""Records the workers of a Ray cluster that exists already.

Where the program starts Ray itself (`ray.init()`), `crosscut record` needs none of this.
docs/ray.md says what is recorded.
"""

from __future__ import annotations

import os
from typing import Any

import crosscut

# What is a process's own, or the machine's, and means nothing to a worker.
_OWN = ("CROSSCUT_PLUGINS", "CROSSCUT_PLUGINS_COMPLETE", "CROSSCUT_TENSORFLOW", "CROSSCUT_TOLD",
        "CROSSCUT_INTERPRETER", "CROSSCUT_FAULT")


def runtime_env(run_dir: str | os.PathLike[str] | None = None, /, **more: Any) -> dict[str, Any]:
    """A `runtime_env` for Ray: its workers record into the run of this process, or into the folder
    `run_dir`, whoever started the cluster.

        ray.init(address="auto", runtime_env=crosscut.ray.runtime_env(pip=["einops"]))

    `more` is what else the runtime_env has; of `env_vars` both are merged, and the caller's own
    values have precedence, but PYTHONPATH is Crosscut's folder and then theirs. Nothing but
    environment variables is added. A worker on a machine that has no Crosscut at this place runs
    on, unrecorded. Where nothing is recorded and no folder is given: `more` as it is. ValueError
    where Crosscut lies in a folder with ':' in its name, TypeError where `env_vars` is no mapping.
    """
    run = os.path.abspath(os.fspath(run_dir)) if run_dir is not None else _run_of_process()
    if not run:
        return dict(more)
    inject = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inject")
    if ":" in inject:
        raise ValueError(f"runtime_env(): PYTHONPATH cannot hold {inject}, which has ':' in it")
    theirs = more.get("env_vars") or {}
    if not hasattr(theirs, "items"):
        raise TypeError(f"runtime_env(): env_vars must be a mapping, not {theirs!r}")
    ours = {name: value for name, value in os.environ.items()
            if name.startswith("CROSSCUT_") and value and name not in _OWN}
    ours["CROSSCUT_RUN"] = run
    ours["CROSSCUT_PARENT"] = crosscut._record.process_key() if run == _run_of_process() else ""
    # Ray puts the worker's own value in the place of ${PYTHONPATH}, nothing where it has none.
    path = f"{inject}:{theirs.get('PYTHONPATH', '${PYTHONPATH}')}"
    return {**more, "env_vars": {**ours, **theirs, "PYTHONPATH": path}}


def _run_of_process() -> str:
    return crosscut.run_dir() or os.environ.get("CROSSCUT_RUN", "")
