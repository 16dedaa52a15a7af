"""What XProf's tools say of an XSpace, as JSON on the last line.

    python xprof_results.py FILE.xplane.pb TOOL...

Run by the Python of .venv-tensorflow. A copy of the file is read: the tools leave files beside."""

import hashlib
import json
import pathlib
import shutil
import sys
import tempfile

TOOLS = ("overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats",
         "memory_profile", "op_profile", "hlo_stats", "roofline_model", "pod_viewer",
         "trace_viewer", "memory_viewer", "graph_viewer")


def results(path, tools):
    from xprof.convert import raw_to_tool_data
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, pathlib.Path(folder) / "host.xplane.pb")
        for tool in tools:
            try:
                data, _ = raw_to_tool_data.xspace_to_tool_data([copy], tool, {})
            except Exception as error:  # noqa: BLE001 - what a tool cannot do is a result as well
                said[tool] = f"{type(error).__name__}: {error}".replace(folder, "")
                continue
            data = data.encode() if isinstance(data, str) else data or b""
            said[tool] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(),
                          "rows": rows_of(data)}
    return said


def rows_of(data):
    """How many rows the tables of the result have; null where it is no table."""
    try:
        tables = json.loads(data)
    except ValueError:
        return None
    tables = tables if isinstance(tables, list) else [tables]
    counts = [len(table["rows"]) for table in tables
              if isinstance(table, dict) and "rows" in table]
    return counts or None


if __name__ == "__main__":
    print("\n" + json.dumps(results(sys.argv[1], sys.argv[2:] or TOOLS)))
