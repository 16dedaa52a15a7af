"""The public headers compile in every dialect that programs are written in."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADERS = ["crosscut.h", "interpose.h", "pjrt_profiler.h", "plugin.h"]
USED = {"c": "int main(void) { return 0; }", "c++": """
int main() {
  static crosscut::Name name("physics", CROSSCUT_SIMULATOR);
  crosscut::Span span(name);
  crosscut::Operation operation("operation");
  return 0;
}"""}


@pytest.mark.parametrize("dialect", ["c99", "c11", "c17", "c++11", "c++14", "c++17", "c++20"])
def test_the_public_headers_compile(dialect, tmp_path):
    language = "c++" if dialect.startswith("c++") else "c"
    compiler = shutil.which(language if language == "c++" else "cc") or pytest.skip("no compiler")
    source = tmp_path / "program"
    source.write_text("".join(f"#include <crosscut/{name}>\n" for name in HEADERS) + USED[language])
    done = subprocess.run(
        [compiler, "-x", language, f"-std={dialect}", "-fsyntax-only", "-Wall", "-Wextra",
         "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
