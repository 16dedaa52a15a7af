"""The plugin ABI against TensorFlow's own header, where a TensorFlow wheel is installed."""

import importlib.util
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADER = "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"

# Ours under other names, then theirs: every size and offset must agree.
SOURCE = r"""
#define TP_Profiler ours_TP_Profiler
#define TP_ProfilerFns ours_TP_ProfilerFns
#define TF_ProfilerRegistrationParams ours_TF_ProfilerRegistrationParams
#define TF_InitProfiler ours_TF_InitProfiler
#define TF_Status ours_TF_Status
#define TSL_Status ours_TSL_Status
#define TF_Code ours_TF_Code
#define TF_SetStatus ours_TF_SetStatus
{codes_away}
#include "crosscut/plugin.h"
enum {{ ours_profiler = TP_PROFILER_STRUCT_SIZE, ours_fns = TP_PROFILER_FNS_STRUCT_SIZE,
       ours_params = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
       ours_major = TP_MAJOR, ours_minor = TP_MINOR, ours_patch = TP_PATCH }};
#undef TP_Profiler
#undef TP_ProfilerFns
#undef TF_ProfilerRegistrationParams
#undef TF_InitProfiler
#undef TF_Status
#undef TSL_Status
#undef TF_Code
#undef TF_SetStatus
#undef TP_MAJOR
#undef TP_MINOR
#undef TP_PATCH
#undef TF_OFFSET_OF_END
#undef TP_PROFILER_STRUCT_SIZE
#undef TP_PROFILER_FNS_STRUCT_SIZE
#undef TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE
{codes_back}
#include "{header}"
#define SAME(a, b, name) typedef char name[(a) == (b) ? 1 : -1]
{checks}
SAME(ours_profiler, TP_PROFILER_STRUCT_SIZE, size_of_profiler);
SAME(ours_fns, TP_PROFILER_FNS_STRUCT_SIZE, size_of_fns);
SAME(ours_params, TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE, size_of_params);
SAME(ours_major, TP_MAJOR, major);
SAME(ours_minor, TP_MINOR, minor);
SAME(ours_patch, TP_PATCH, patch);
int main(void) {{ return 0; }}
"""
MEMBERS = {
    "TP_Profiler": ["struct_size", "ext", "device_type"],
    "TP_ProfilerFns": ["struct_size", "ext", "start", "stop", "collect_data_xspace"],
    "TF_ProfilerRegistrationParams": [
        "struct_size", "ext", "major_version", "minor_version", "patch_version", "profiler",
        "profiler_fns", "destroy_profiler", "destroy_profiler_fns"],
}
CODES = ["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
         "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
         "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
         "UNAUTHENTICATED"]


def include_folder() -> pathlib.Path:
    found = importlib.util.find_spec("tensorflow")
    folders = [pathlib.Path(folder) for folder in
               (found.submodule_search_locations or [] if found is not None else [])]
    folders += (ROOT / ".venv-tensorflow").glob("lib/python3.*/site-packages/tensorflow")
    for folder in folders:
        if (folder / "include" / HEADER).is_file():
            return folder / "include"
    pytest.skip("no TensorFlow with pluggable_profiler.h is installed")


def compile_with(source: pathlib.Path, folder: pathlib.Path) -> subprocess.CompletedProcess:
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    return subprocess.run(
        [compiler, "-std=c99", "-fsyntax-only", f"-I{ROOT / 'include'}", "-isystem", str(folder),
         str(source)], capture_output=True, text=True, check=False)


def source_text() -> str:
    offsets = [f"SAME(offsetof(ours_{name}, {member}), offsetof({name}, {member}), "
               f"{name}_{member});" for name, members in MEMBERS.items() for member in members]
    offsets += [f"SAME((int)ours_TF_{code}, (int)TF_{code}, code_{code});" for code in CODES]
    return SOURCE.format(
        header=HEADER, checks="\n".join(offsets),
        codes_away="\n".join(f"#define TF_{code} ours_TF_{code}" for code in CODES),
        codes_back="\n".join(f"#undef TF_{code}" for code in CODES))


def test_structs_and_codes_agree_with_tensorflows_header(tmp_path):
    folder = include_folder()
    source = tmp_path / "both.c"
    source.write_text(source_text(), encoding="utf-8")
    done = compile_with(source, folder)
    assert done.returncode == 0, done.stderr


def test_a_member_that_moves_is_noticed(tmp_path):
    folder = include_folder()
    source = tmp_path / "moved.c"
    right = "offsetof(ours_TP_Profiler, ext)"
    text = source_text().replace(right, "8 + " + right)
    source.write_text(text, encoding="utf-8")
    assert "TP_Profiler_ext" in compile_with(source, folder).stderr


def test_both_headers_can_be_included_theirs_first(tmp_path):
    folder = include_folder()
    source = tmp_path / "together.c"
    source.write_text(f'#include "{HEADER}"\n#include "crosscut/plugin.h"\n'
                      "const crosscut_host* host(const TF_ProfilerRegistrationParams* p) {\n"
                      "  return crosscut_host_of(p);\n}\n", encoding="utf-8")
    done = compile_with(source, folder)
    assert done.returncode == 0, done.stderr
