"""The command line of `map` and `reduce`."""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
from collections.abc import Sequence

from crosscut import _outputs
from crosscut._command import Parser, exit_code, one_of, say
from crosscut.cluster import dataset, merging, partial, report, sources, spec, store, workers
from crosscut.cluster.finish import finish
from crosscut.cluster.partial import Gap, Partial
from crosscut.cluster.shards import file_name
from crosscut.cluster.spool import Spool, keep_pages

_MOST_TOLD = 5  # files that `map` names


def name_of(part: Partial) -> str:
    """What the file of a partial is called: by what it is of, so another one has another name, and
    who writes it at the same time writes the same."""
    host = part.hosts[0] if len(part.hosts) == 1 else f"{len(part.hosts)}-hosts"
    units = " ".join(sorted({shard.unit for shard in part.shards}))
    digest = hashlib.sha256(f"{part.job} {units}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return file_name(part.job or "unnamed", host, spec.digest()[:8], digest) + partial.SUFFIX


def main_map(arguments: Sequence[str]) -> int:
    """`crosscut map`: a partial for each run; an exit code of the command."""
    parser = Parser(prog="crosscut map", allow_abbrev=False)
    parser.add_argument("inputs", nargs="+", metavar="RUN|FILE")
    parser.add_argument("-o", "--output", required=True, metavar="DIR|URI")
    parser.add_argument("--job", default="", metavar="ID")
    parser.add_argument("--workers", type=int, default=0, metavar="N")
    options = parser.parse_args(arguments)

    def mapped() -> bool:
        inputs, unread = sources.all_inputs_of(options.inputs)
        _outputs.refuse(options.output, inputs)
        written = 0
        with tempfile.TemporaryDirectory(prefix="crosscut-map-") as folder:
            for one in workers.map_all(inputs, folder, options.job, options.workers):
                if one.gap is not None:
                    unread.append(one.gap)
                if one.file is None:
                    continue
                content = store.read(one.file)
                part = partial.from_bytes(content, one.path)
                path = store.join(options.output, name_of(part))
                store.write(path, content)
                unread += part.damage
                written += 1
                if written <= _MOST_TOLD:
                    count = len(part.shards)
                    say(f"wrote {path} ({count} process{'es' if count != 1 else ''}, "
                        f"{len(content) >> 10} KiB)")
        if written > _MOST_TOLD:
            say(f"wrote {written - _MOST_TOLD} more")
        for gap in unread:
            say(f"{gap.where}: {gap.what}")
        return bool(unread)

    return exit_code(mapped)


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
    return exit_code(lambda: _reduce(options))


def _reduce(options: argparse.Namespace) -> bool:
    """Whether something is missing."""
    keep_pages()
    _outputs.refuse(options.output, options.sources)
    dataset.claim(options.output)
    spool = Spool(options.output)
    found = sources.find(options.sources, spool, elsewhere=options.on == "ray")
    (_map_on_ray if options.on == "ray" else _map_here)(found, options, spool)
    whole = merging.merge(found.partials)
    if not whole.shards:
        for gap, _ in found.unread:
            say(f"{gap.where}: {gap.what}")
        raise ValueError("nothing is left to reduce")
    here = {shard.id for shard in whole.shards}
    unread = [gap for gap, lost in found.unread
              if lost is None or any(shard.id not in here for shard in lost)]
    done = finish(whole, options.memory)
    done.gaps = sorted({*done.gaps, *unread})
    done.incomplete = bool(done.missing or unread or whole.damage)
    facts = dataset.write(options.output, whole, done)
    summary = report.summary(options.output, facts) + "\n"
    _outputs.write("-", [], summary.encode("utf-8", "surrogateescape"))
    if done.incomplete:
        for line in report.missing(dataset.open_cluster(options.output)):
            say(line)
    return done.incomplete


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
                os.replace(one.file, os.path.join(keep, name_of(part)))
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
        store.write(store.join(options.output, f"{dataset.PARTIALS}/{name_of(part)}"),
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
        wanted = part.job == (options.job or part.job) and not part.damage
        if wanted and its <= asked and not its <= known:
            found.partials.append(part)
            known |= its
    return [one for one in inputs if not one.logs or not one.logs <= known]
