"""Which rank of a job this process is, as torch.distributed says it."""

from __future__ import annotations

import json
import sys
from types import ModuleType

from crosscut import _patches, _record, _source_state
from crosscut.adapters import torch

_MODULE = "torch.distributed.distributed_c10d"
_ours = _patches.Patches()


def install(module: ModuleType) -> None:
    """After the import of torch.distributed.distributed_c10d: states the facts whenever a process
    group is made."""
    if not _ours:
        for name in ("init_process_group", "new_group"):
            _follow(module, name)
    if module.is_initialized():
        follow()
    tell()


def _follow(module: ModuleType, name: str) -> None:
    function = getattr(module, name)

    told = _record.around(function, before=lambda *_, **__: follow(),
                          after=lambda _, __, failed: None if failed else tell())
    for owner in (module, sys.modules.get("torch.distributed")):
        if owner is not None and vars(owner).get(name) is function:
            _ours.replace(owner, name, told)


withdraw = _ours.undo


def follow() -> bool:
    """Has collectives tell their group, where that is not so yet."""
    try:
        module = sys.modules.get(_MODULE)
        torch.follow_collectives(before_groups=module is None or not module.is_initialized())
    except Exception as error:
        _source_state.report_failure("torch.distributed", error)
    return True


def tell() -> None:
    """States rank, world size, backend and process groups, where there are any."""
    module = sys.modules.get(_MODULE)
    try:
        if module is None or not module.is_initialized():
            return
        info = {"backend": module.get_backend(), "rank": module.get_rank(),
                "world_size": module.get_world_size(), "pg_count": module.get_pg_count(),
                "pg_config": module._get_all_pg_configs()}
        facts = {"rank": info["rank"], "world_size": info["world_size"],
                 "rank_from": "init_process_group", "distributedInfo": json.dumps(info)}
        for key, value in facts.items():
            _record.meta(key, str(value))
    except Exception as error:  # the program's call has succeeded
        _source_state.report_failure("torch.distributed", error)

