"""The command line of `map` and `reduce`."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence

from crosscut import _outputs
from crosscut._command import USAGE, Parser, one_of, say
from crosscut.cluster import dataset, merging, partial, report, sources, spec, store, workers
from crosscut.cluster.finish import finish
from crosscut.cluster.partial import Gap, Partial, Unusable
from crosscut.cluster.shards import file_name
from crosscut.cluster.spool import Spool, keep_pages

GOOD, UNREADABLE = 0, 3
_MAP_PATIENCE = 600  # seconds


def name_of(part: Partial, alone: bool = True) -> str:
    """What the file of a partial is called. `alone`: nobody else writes into its folder. Else the
    name is that of its processes, too: no other file has it."""
    host = part.hosts[0] if len(part.hosts) == 1 else f"{len(part.hosts)}-hosts"
    names = [part.job or "unnamed", host, spec.digest()[:8]]
    if not alone:
        names.append(_digest(repr(sorted(shard.id for shard in part.shards))))
    return file_name(*names) + partial.SUFFIX


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def main_map(arguments: Sequence[str]) -> int:
    """`crosscut map`: a partial for each job and host; an exit code of the command."""
    parser = Parser(prog="crosscut map", allow_abbrev=False)
    parser.add_argument("inputs", nargs="+", metavar="RUN|FILE")
    parser.add_argument("-o", "--output", required=True, metavar="DIR|URI")
    parser.add_argument("--job", default="", metavar="ID")
    parser.add_argument("--workers", type=int, default=0, metavar="N")
    options = parser.parse_args(arguments)
    try:
        inputs = sources.inputs_of(options.inputs)
        with tempfile.TemporaryDirectory(prefix="crosscut-map-") as folder:
            parts, gaps = workers.one_by_one(
                workers.map_all(inputs, folder, options.job, options.workers))
        with store.alone_in(options.output, _MAP_PATIENCE) as alone:
            for part in _together(parts, options.output) if alone else parts:
                path = store.join(options.output, name_of(part, alone))
                content = partial.to_bytes(part)
                store.write(path, content)
                count = len(part.shards)
                say(f"wrote {path} ({count} process{'es' if count != 1 else ''}, "
                    f"{len(content) >> 10} KiB)")
                if not alone:
                    _remove_older(part, path, options.output)
    except (OSError, ValueError, OverflowError) as error:
        say(str(error))
        return UNREADABLE
    for gap in gaps:
        say(f"{gap.where}: {gap.what}")
    return UNREADABLE if gaps else GOOD


def _together(parts: Sequence[Partial], folder: str) -> Iterator[Partial]:
    """The partials of a host as one, with what an earlier `map` wrote there of other runs."""
    for group in workers.grouped(parts):
        path = store.join(folder, name_of(group[0]))
        yield merging.merge(_with_earlier(group, path) if store.exists(path) else group)


def _with_earlier(group: list[Partial], path: str) -> list[Partial]:
    try:
        earlier = partial.from_bytes(store.read(path), path)
    except Unusable as error:
        say(f"{error}; it is replaced, and what else it held has to be mapped again")
        return group
    if {shard.id for shard in earlier.shards} <= {s.id for part in group for s in part.shards}:
        return group
    held = {shard.unit for shard in earlier.shards}
    return [earlier, *(p for p in group if not {shard.unit for shard in p.shards} <= held)]


def _remove_older(part: Partial, path: str, folder: str) -> None:
    """Removes what was mapped of the run when it had fewer processes."""
    if len(part.shards) == 1:
        return
    ids = {shard.id for shard in part.shards}
    for other in store.partials_in(folder):
        if not os.path.basename(other).startswith(name_of(part).removesuffix(partial.SUFFIX)):
            continue
        with contextlib.suppress(Unusable):
            if {s.id for s in partial.from_bytes(store.read(other), other).shards} < ids:
                store.remove(other)


def main_reduce(arguments: Sequence[str]) -> int:
    """`crosscut reduce`: partials, and what has to be mapped first, into a cluster folder."""
    parser = Parser(prog="crosscut reduce", allow_abbrev=False)
    parser.add_argument("sources", nargs="+", metavar="SRC")
    parser.add_argument("-o", "--output", required=True, metavar="CLUSTER")
    parser.add_argument("--on", default="local", type=one_of("engine", ["local", "ray"]))
    parser.add_argument("--job", default="", metavar="ID")
    parser.add_argument("--workers", type=int, default=0, metavar="N")
    parser.add_argument("--memory", type=int, default=2048, metavar="MIB")
    options = parser.parse_args(arguments)
    try:
        keep_pages()
        dataset.claim(options.output)
        spool = Spool(options.output)
        found = sources.find(options.sources, spool, elsewhere=options.on == "ray")
        map_the_rest = _map_on_ray if options.on == "ray" else _map_here
        map_the_rest(found, options, spool)
        whole = merging.merge(found.partials)
        if not whole.shards:
            for gap, _ in found.unread:
                say(f"{gap.where}: {gap.what}")
            say("nothing is left to reduce")
            return UNREADABLE
        here = {shard.id for shard in whole.shards}
        unread = [gap for gap, lost in found.unread
                  if lost is None or any(shard.id not in here for shard in lost)]
        done = finish(whole, options.memory)
        done.gaps = sorted({*done.gaps, *unread})
        done.incomplete = bool(done.missing or unread)
        facts = dataset.write(options.output, whole, done)
        summary = report.summary(options.output, facts) + "\n"
        _outputs.write("-", [], summary.encode("utf-8", "surrogateescape"))
    except ModuleNotFoundError as missing:
        if missing.name != "ray":
            raise
        say(f"--on=ray needs ray, and {sys.executable} has none: pip install 'crosscut[ray]'")
        return USAGE
    except (OSError, ValueError, OverflowError) as error:
        say(str(error))
        return UNREADABLE
    return UNREADABLE if done.incomplete else GOOD


def _map_here(found: sources.Sources, options: argparse.Namespace, spool: Spool) -> None:
    """Maps the runs that no partial holds. Each result is kept in the cluster folder, where a later
    `reduce` finds it."""
    found.unread += [(Gap(path, "it is not there"), None) for path in found.absent]
    inputs = [sources.Input(path, sources.logs_of(path)) for path in found.unmapped]
    paths = [one.path for one in _unmapped(inputs, found, options, spool)]
    keep = os.path.join(options.output, dataset.PARTIALS)
    with store.scratch(keep) as folder:
        for one in workers.map_all(paths, folder, options.job, options.workers):
            if one.gap is not None:
                found.unread.append((one.gap, None))
            if one.file is not None:
                part = partial.from_bytes(store.read(one.file), one.path)
                os.replace(one.file, os.path.join(keep, _name_of_units(part)))
                found.partials.append(sources.spooled(part, spool))


def _map_on_ray(found: sources.Sources, options: argparse.Namespace, spool: Spool) -> None:
    """The same by the nodes of a Ray cluster."""
    if not found.given:
        return
    from crosscut.cluster import on_ray

    with on_ray.connected() as nodes:
        inputs, missing = nodes.find(found.given)
        parts, gaps = nodes.map(_unmapped(inputs, found, options, spool), options.job,
                                options.workers)
    for part in parts:
        store.write(store.join(options.output, f"{dataset.PARTIALS}/{_name_of_units(part)}"),
                    partial.to_bytes(part))
        found.partials.append(sources.spooled(part, spool))
    found.unread += [(gap, None) for gap in (*missing, *gaps)]


def _unmapped(inputs: Sequence[sources.Input], found: sources.Sources, options: argparse.Namespace,
              spool: Spool) -> list[sources.Input]:
    """The inputs that no partial holds. Takes those that an earlier `reduce` kept."""
    keep = os.path.join(options.output, dataset.PARTIALS)
    asked: set[sources.Log] = set().union(*(one.logs for one in inputs))
    known = {sources.log_of(shard) for part in found.partials for shard in part.shards}
    for part in sources.find([keep], spool).partials if store.partials_in(keep) else []:
        its = {sources.log_of(shard) for shard in part.shards}
        if part.job == (options.job or part.job) and its <= asked and not its <= known:
            found.partials.append(part)
            known |= its
    return [one for one in inputs if not one.logs or not one.logs <= known]


def _name_of_units(part: Partial) -> str:
    return _digest(" ".join(sorted({shard.unit for shard in part.shards}))) + partial.SUFFIX
