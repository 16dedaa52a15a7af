"""The partial: what is kept of the runs of a host, as a file. docs/cluster.md has its grammar.

Equal content gives equal bytes: the archive has no times and no owners, members are sorted by key,
batches are cut at fixed places.
"""

from __future__ import annotations

import functools
import io
import json
import tarfile
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from crosscut.cluster import spec
from crosscut.cluster.shards import Shard

MANIFEST = "manifest.json"
SUFFIX = ".ccp"
SHARD = "shard"  # the first column of a union's rows: the place of their shard in the manifest


class Unusable(ValueError):
    """A partial that cannot be taken. `shards`: those that it should hold, as far as it tells."""

    def __init__(self, message: str, shards: list[Shard] | None = None) -> None:
        super().__init__(message)
        self.shards = shards


class Damaged(Unusable):
    """Bytes that are no whole partial."""


class OtherVersion(Unusable):
    """A partial of another version or specification: its runs have to be mapped again."""


class Conflict(ValueError):
    """Partials that cannot be true together."""


@dataclass(frozen=True, order=True)
class Gap:
    """What is missing, and of what: a host, a run, a rank."""

    where: str
    what: str


@dataclass
class Partial:
    """Shards in their order, and tables: a union's rows are sorted by shard, sums by their key."""

    job: str = ""
    shards: list[Shard] = field(default_factory=list)
    tables: dict[str, Any] = field(default_factory=dict)  # the ledger may lie in a spool
    gaps: list[Gap] = field(default_factory=list)

    @property
    def damage(self) -> list[Gap]:
        """What could not be read of its runs, a sentence for each process."""
        return [Gap(shard.title, f"it cannot be read whole: {shard.damage}")
                for shard in self.shards if shard.damage]

    @property
    def hosts(self) -> list[str]:
        """The names of its hosts, sorted."""
        return sorted({shard.host for shard in self.shards})


def canonical(table: pa.Table) -> pa.Table:
    """The same cells as one batch whose bytes depend on nothing else: no metadata, no chunks,
    nothing beneath missing cells."""
    columns, types = [], []
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_large_string(column.type):
            column = column.cast(pa.string())
        if pa.types.is_dictionary(column.type):
            columns.append(_sorted_codes(column))
            types.append(pa.field(name, columns[-1].type))
            continue
        whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if whole.null_count and pa.types.is_primitive(whole.type):
            known = whole.fill_null(0).to_numpy(zero_copy_only=False)
            whole = pa.array(known, whole.type,
                             mask=pc.is_null(whole).to_numpy(zero_copy_only=False))
        columns.append(whole)
        types.append(pa.field(name, whole.type))
    return pa.Table.from_arrays(columns, schema=pa.schema(types))


def _sorted_codes(column: pa.ChunkedArray) -> pa.Array:
    """Texts as codes into those that occur, sorted."""
    unified = column.unify_dictionaries()
    whole = unified.combine_chunks() if unified.num_chunks != 1 else unified.chunk(0)
    used = pc.unique(whole.indices).drop_null()
    texts = pc.take(whole.dictionary, used)
    order = pc.array_sort_indices(texts)
    place = np.zeros(len(whole.dictionary), np.int32)
    place[used.take(order).to_numpy()] = np.arange(len(used), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(place[whole.indices.to_numpy()]),
                                          texts.take(order))


def _encode(table: pa.Table) -> bytes:
    if table.num_rows:
        return _encode_rows(table)
    return _encode_schema(table.schema)


@functools.cache  # most tables of most runs are empty
def _encode_schema(schema: pa.Schema) -> bytes:
    return _encode_rows(schema.empty_table())


def _decode(content: bytes) -> pa.Table:
    """The inverse of _encode_rows. To hand such small pieces to other threads costs more than to
    read them."""
    options = ipc.IpcReadOptions(use_threads=False)
    return ipc.open_stream(content, options=options).read_all()


@functools.cache
def _decode_schema(content: bytes) -> pa.Table:
    return _decode(content)


def _encode_rows(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    options = ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    whole = canonical(table)
    with ipc.new_stream(sink, whole.schema, options=options) as writer:
        for batch in whole.to_batches(max_chunksize=spec.BATCH_ROWS):
            writer.write_batch(batch)
    return sink.getvalue()


def to_bytes(partial: Partial) -> bytes:
    """The file. Equal partials give equal bytes."""
    members = {f"{name}.arrow": _encode(table) for name, table in sorted(partial.tables.items())}
    manifest = {
        "version": spec.VERSION, "spec": spec.digest(), "job": partial.job,
        "shards": [shard.as_json() for shard in partial.shards],
        "gaps": [[gap.where, gap.what] for gap in sorted(set(partial.gaps))],
        "members": {f"{name}.arrow": {
            "rows": table.num_rows, "bytes": len(members[f"{name}.arrow"]),
            "crc32": zlib.crc32(members[f"{name}.arrow"])}
            for name, table in partial.tables.items()},
    }
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in [(MANIFEST, text.encode("utf-8", "surrogatepass")), *members.items()]:
            entry = tarfile.TarInfo(name)  # time, owner and group are 0, the mode is 0644
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return sink.getvalue()


def from_bytes(content: bytes, name: str) -> Partial:
    """The inverse. `name`: of the file, for errors. Damaged where bytes are missing or changed,
    OtherVersion where it was made by another specification."""
    members = _whole_members(content)
    try:
        manifest = json.loads(members.pop(MANIFEST))
        version, digest = manifest["version"], manifest["spec"]
    except (KeyError, TypeError, ValueError):
        raise Damaged(f"{name}: it is no partial, or its beginning is torn off") from None
    shards = None
    try:
        shards = [Shard.from_json(stated) for stated in manifest["shards"]]
    except (KeyError, TypeError, ValueError) as error:
        unknown = error
    if (version, digest) != (spec.VERSION, spec.digest()):
        raise OtherVersion(f"{name}: version {version}, specification {str(digest)[:8]}; this "
                           f"Crosscut has {spec.VERSION}, {spec.digest()[:8]}: map its run again",
                           shards)
    if shards is None:
        raise Damaged(f"{name}: {unknown}")
    try:
        tables = _tables_of(manifest["members"], members)
        gaps = [Gap(*map(str, gap)) for gap in manifest["gaps"]]
        return Partial(str(manifest["job"]), shards, tables, gaps)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise Damaged(f"{name}: {error}", shards) from None


def _whole_members(content: bytes) -> dict[str, bytes]:
    """The members up to where the archive is torn."""
    members = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                file = archive.extractfile(entry)
                members[entry.name] = file.read() if file is not None else b""
    except (tarfile.TarError, EOFError, ValueError):
        pass
    return members


def _tables_of(stated_members: dict[str, Any], members: dict[str, bytes]) -> dict[str, pa.Table]:
    if set(stated_members) != set(members):
        lacking = sorted(set(stated_members) - set(members))
        raise ValueError(f"it is torn: {', '.join(lacking[:3]) or 'members'} "
                         f"{'is' if len(lacking) == 1 else 'are'} missing or unknown")
    tables = {}
    for member, stated in stated_members.items():
        content = members[member]
        if (len(content), zlib.crc32(content)) != (stated["bytes"], stated["crc32"]):
            raise ValueError(f"{member} is torn: its checksum differs")
        empty = stated["rows"] == 0  # equal ones share their table
        table = _decode_schema(content) if empty else _decode(content)
        if table.num_rows != stated["rows"]:
            raise ValueError(f"{member} has {table.num_rows} rows, not {stated['rows']}")
        tables[member.removesuffix(".arrow")] = table
    return tables
