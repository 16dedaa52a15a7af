"""What HolisticTraceAnalysis says of a trace: all of its analyses, as JSON on the last line.

    python hta_results.py TRACE

Run as a program of its own: HTA talks, warns, and keeps state."""

import json
import logging
import re
import sys
import tempfile
import warnings

PRECISION = 9  # digits: HTA adds in doubles, in the order of rows with equal times


def analyses(analysis):
    """Name to a call that gives its result."""
    a = analysis
    quiet = {"visualize": False}
    return {
        "comm_comp_overlap": lambda: a.get_comm_comp_overlap(**quiet),
        "profiler_steps": lambda: a.get_profiler_steps(),
        "potential_stragglers": lambda: a.get_potential_stragglers(),
        "gpu_kernel_breakdown": lambda: a.get_gpu_kernel_breakdown(**quiet),
        "gpu_kernels_with_user_annotations":
            lambda: a.get_gpu_kernels_with_user_annotations(rank=0),
        "gpu_user_annotation_breakdown":
            lambda: a.get_gpu_user_annotation_breakdown(**quiet),
        "temporal_breakdown": lambda: a.get_temporal_breakdown(**quiet),
        "frequent_cuda_kernel_sequences": lambda: a.get_frequent_cuda_kernel_sequences(
            operator_name="aten::", output_dir=tempfile.mkdtemp(), **quiet),
        "aten_op_kernels_and_delay": lambda: a.get_aten_op_kernels_and_delay(),
        "cuda_kernel_launch_stats": lambda: a.get_cuda_kernel_launch_stats(**quiet),
        "queue_length_summary": lambda: a.get_queue_length_summary(),
        "queue_length_time_series": lambda: a.get_queue_length_time_series(),
        "time_blocked_on_full_queue": lambda: a.get_time_spent_blocked_on_full_queue(
            a.get_queue_length_time_series()),
        "memory_bw_summary": lambda: a.get_memory_bw_summary(),
        "memory_bw_time_series": lambda: a.get_memory_bw_time_series(),
        "idle_time_breakdown": lambda: a.get_idle_time_breakdown(**quiet),
        "cupti_counter_data_with_operators":
            lambda: a.get_cupti_counter_data_with_operators(),
        "critical_path": lambda: critical_path(a),
    }


def critical_path(analysis):
    """Edges of the path of the first step, or of the first annotation where there are no steps."""
    rows = analysis.t.get_trace(0)
    names = analysis.t.symbol_table.get_sym_table()
    annotation = "ProfilerStep"
    if not any(names[i].startswith(annotation) for i in rows["name"].unique()):
        category = analysis.t.symbol_table.get_sym_id_map().get("user_annotation")
        annotation = names[rows[rows["cat"] == category].sort_values("ts").iloc[0]["name"]]
    graph, good = analysis.critical_path_analysis(rank=0, annotation=annotation, instance_id=0)
    path = graph.critical_path_edges_set if good else ()
    return good, sorted((edge.type.name, int(edge.weight)) for edge in path)


def plain(value, columns_of_rows=("index", "index_correlation", "python_id")):
    """The result as what JSON has, without numbers of rows, which follow the order of the file."""
    import numpy
    import pandas
    if isinstance(value, pandas.DataFrame):
        frame = value.reset_index()
        left_out = {*columns_of_rows, *(str(c)[2:] for c in frame.columns if
                                        str(c).startswith("s_"))}  # numbers of texts
        frame = frame[sorted((c for c in frame.columns if str(c) not in left_out), key=str)]
        rows = [[plain(cell) for cell in row] for row in frame.itertuples(index=False)]
        return [[str(c) for c in frame.columns], sorted(rows, key=json.dumps)]
    if isinstance(value, pandas.Series):
        return plain(value.to_frame())
    if isinstance(value, dict):
        return sorted(([str(key), plain(item)] for key, item in value.items()), key=json.dumps)
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, (float, numpy.floating)):
        return f"{value:.{PRECISION}g}"
    if isinstance(value, numpy.generic):
        return value.item()
    return value if isinstance(value, (int, str, type(None))) else str(value)


def results(path):
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="/")
    said = {}
    for name, call in analyses(analysis).items():
        try:
            said[name] = plain(call())
        except Exception as error:  # noqa: BLE001 - what HTA cannot do is a result as well
            said[name] = re.sub(r"\d+", "N", f"{type(error).__name__}: {error}")  # rows' numbers
    return said


if __name__ == "__main__":
    print("\n" + json.dumps(results(sys.argv[1])))
