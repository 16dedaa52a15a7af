"""A notebook that records its cells, executed by Jupyter's own kernel and written as HTML."""

import html
import pathlib
import re
import subprocess
import sys

import crosscut
import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
nbconvert = pytest.importorskip("nbconvert")
pytest.importorskip("ipykernel")
CROSSCUT = pathlib.Path(crosscut.__file__).parent / "bin" / "crosscut"

WORK = """
import time
def work():
    for _ in range(3):
        crosscut.step()
        with crosscut.operation('solve'):
            time.sleep(0.01)
    crosscut.step_end()
    return 'worked'
"""


def execute(folder, *cells, **options):
    """The notebook of these cells, executed in `folder`."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(folder)}}, **options).execute()
    return book


def texts(cell, kind):
    return ["".join(output["data"][kind]) for output in cell.outputs
            if output.output_type in ("display_data", "execute_result") and kind in output["data"]]


def printed(cell, stream="stdout"):
    return "".join(output.text for output in cell.outputs
                   if output.output_type == "stream" and output.name == stream)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    cells = ["%load_ext crosscut\nimport crosscut", WORK,
             "%%crosscut -o first --plan=control=0,everything=100\nwork()",
             "%%crosscut -o first --plan=control=0,everything=100\nwork();",
             "with crosscut.session(plan='control=0,everything=100') as s:\n    work()\ns",
             "s.run.table('operations')",
             "%crosscut runs", "%crosscut report first", "%crosscut open first-2"]
    return folder, execute(folder, *cells)


def test_a_cell_is_recorded_and_shows_its_value_and_its_report(book):
    folder, notebook = book
    cell = notebook.cells[2]
    assert texts(cell, "text/plain")[0] == "'worked'"
    page = texts(cell, "text/html")[-1]
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', page).group(1))
    assert inner.lower().startswith("<!doctype html>") and "solve" in inner
    assert "solve" in texts(cell, "text/plain")[-1]
    assert printed(cell, "stderr") == ""


def test_a_cell_that_runs_again_makes_a_new_run_and_says_its_name(book):
    folder, notebook = book
    cell = notebook.cells[3]
    assert "first holds a recording already; this one goes to first-2" in printed(cell, "stderr")
    assert "'worked'" not in texts(cell, "text/plain")  # the cell ends in ";"
    for name in ("first", "first-2"):
        rows = crosscut.read(folder / name).table("operations", where="operation = solve").rows()
        assert [row["count"] for row in rows] == [3]


def test_a_session_and_a_table_show_themselves(book):
    folder, notebook = book
    assert "srcdoc" in texts(notebook.cells[4], "text/html")[0]
    table = texts(notebook.cells[5], "text/html")[0]
    assert re.search(r'<th scope="col"[^>]*>wall_ns</th>', table)
    assert re.search(r">solve</td>", table) and re.search(r">[\d.]+ ms</td>", table)


def test_runs_and_reports_are_lines_of_magic(book):
    folder, notebook = book
    listed = printed(notebook.cells[6])
    assert "first-2" in listed and "crosscut-runs/" in listed
    report = printed(notebook.cells[7])
    assert "solve" in report and "notebook (pid " in report
    assert "srcdoc" in texts(notebook.cells[8], "text/html")[0]


def test_nbconvert_writes_the_reports_into_html(book):
    body, _ = nbconvert.HTMLExporter().from_notebook_node(book[1])
    assert body.count("srcdoc=") == 4 and "first-2" in body


# A sum takes 20 ms or more: the kernel takes the processor away at the call of thread_time() first,
# so that beside load a loop of short sums waits in the line of the call alone.
BUSY = """import time
def busy():
    end = time.thread_time() + 1
    while time.thread_time() < end:
        sum(range(2_000_000))
"""
MADE_UP = re.compile(r"ipykernel_\d|ipython-input|\b\d+\.py:\d")


def record_whole_kernel(folder):
    """crosscut record of what executes a notebook, up to the kernel's exit."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)
                                           for cell in (BUSY, "busy()")])
    nbformat.write(book, folder / "book.ipynb")
    subprocess.run([CROSSCUT, "record", "-o", folder / "run", "--", sys.executable, "-m",
                    "nbconvert", "--execute", "--to", "html", "book.ipynb"], cwd=folder,
                   check=True, capture_output=True, timeout=300)


@pytest.mark.parametrize("how", ["magic", "session", "record"])
def test_lines_of_cells_have_the_numbers_of_their_cells(tmp_path, how):
    # As in IPython's tracebacks the line of %%crosscut does not count.
    body, call = "Cell In[2]", f"Cell In[3]:{1 if how == 'magic' else 2} <module>"
    if how == "record":
        record_whole_kernel(tmp_path)
        body, call = "Cell In[1]", "Cell In[2]:1 <module>"
    else:
        begin = "%%crosscut -o run" if how == "magic" else "with crosscut.session('run'):"
        execute(tmp_path, "%load_ext crosscut\nimport crosscut", BUSY, begin + "\n    busy()")
    run = crosscut.read(tmp_path / "run")
    samples = run.table("samples")
    assert f"{body}:5 busy" in samples["own_line"] and f"{body}:5 busy" in samples["line"]
    assert any(work.startswith(body) for work in run.table("part_work")["work"])
    for view in ("text", "html", "json"):
        text = run.report(view)
        assert body in text and not MADE_UP.search(text), view
    for form in ("chrome", "speedscope"):
        file = tmp_path / f"{form}.json"
        subprocess.run([CROSSCUT, "export", tmp_path / "run", f"--to={form}", "-o", file],
                       check=True, capture_output=True)
        text = file.read_text()
        assert f"{body}:5 busy" in text and call in text and not MADE_UP.search(text), form


@pytest.mark.parametrize("cell, words", [
    ("%%crosscut --plam=full\nx = 1", "unknown option --plam; did you mean --plan?"),
    ("%%crosscut --budget=2000\nx = 1", "budget=2000.0 is not a share of the time"),
    ("%%crosscut --python=boundry\nx = 1", "did you mean boundary?"),
    ("%crosscut reprt", "unknown verb reprt; did you mean report?"),
    ("%crosscut report absent", "absent"),
    ("%crosscut report", "there is no run here; record one with %%crosscut")])
def test_what_cannot_be_meant_is_an_error_of_the_cell(tmp_path, cell, words):
    with pytest.raises(nbclient.exceptions.CellExecutionError) as error:
        execute(tmp_path, "%load_ext crosscut", cell)
    assert words in str(error.value)
    assert not (tmp_path / "crosscut-runs").exists()


def test_a_cell_that_fails_fails_and_leaves_what_it_recorded(tmp_path):
    book = execute(tmp_path, "%load_ext crosscut\nimport crosscut", WORK,
                   "%%crosscut -o run --plan=control=0,everything=100\nwork()\n1 / 0",
                   "crosscut.active()", allow_errors=True)
    assert book.cells[2].outputs[-1].ename == "ZeroDivisionError"
    traceback = "\n".join(book.cells[2].outputs[-1].traceback)
    assert "----> 2 1 / 0" in re.sub(r"\x1b\[[\d;]*m", "", traceback)
    assert "recorded until the ZeroDivisionError in run\n" in printed(book.cells[2], "stderr")
    assert texts(book.cells[3], "text/plain") == ["False"]
    assert "solve" in crosscut.read(tmp_path / "run").table("operations")["operation"]


AWAITS = """%%crosscut -o awaits --quiet
import asyncio
async def work():
    with crosscut.operation("solve"):
        await asyncio.sleep(0.01)
    return "awaited"
asyncio.current_task() is not None, await work()"""


def test_a_cell_awaits_on_the_notebooks_loop_as_without_the_magic(tmp_path):
    book = execute(tmp_path, "%load_ext crosscut\nimport crosscut", AWAITS)
    assert texts(book.cells[1], "text/plain")[0] == "(True, 'awaited')"
    rows = crosscut.read(tmp_path / "awaits").table("operations", where="operation = solve")
    assert [row["count"] for row in rows] == [1]


def test_a_cells_stop_iteration_stays_one(tmp_path):
    book = execute(tmp_path, "%load_ext crosscut", "%%crosscut --quiet\nnext(iter([]))",
                   allow_errors=True)
    error, = [one for one in book.cells[1].outputs if one.output_type == "error"]
    assert error.ename == "StopIteration"


def test_a_large_run_says_what_goes_on_and_how_long_it_took(tmp_path):
    book = execute(tmp_path, "%load_ext crosscut\nimport crosscut._notebook\n"
                   "crosscut._notebook._NOTED = 0", WORK,
                   "%%crosscut -o run\nimport crosscut\nwork()", "%crosscut report")
    assert len(book.cells) == 4
    for cell in book.cells[2:]:
        (note,) = [text for text in texts(cell, "text/plain") if text.startswith("Crosscut: ")]
        assert re.fullmatch(r"Crosscut: read run \(\d+ MiB\) in \d+ s", note)


def test_the_extension_can_be_taken_back(tmp_path):
    book = execute(tmp_path, "%load_ext crosscut", "%crosscut runs", "%unload_ext crosscut",
                   "%crosscut runs", allow_errors=True)
    assert printed(book.cells[1]) == "there is no run in ."
    assert "`%crosscut` not found" in printed(book.cells[3], "stderr")


def test_a_quiet_cell_shows_only_where_it_was_recorded(tmp_path):
    book = execute(tmp_path, "%load_ext crosscut", "%%crosscut --quiet -o run\nx = 1")
    assert [output.output_type for output in book.cells[1].outputs] == ["stream"]
    assert printed(book.cells[1]) == "crosscut: recorded in run\n"


def test_help_is_printed_and_nothing_is_recorded(tmp_path):
    book = execute(tmp_path, "%load_ext crosscut", "%%crosscut --help\nx = 1", "'x' in globals()")
    assert "--allocations" in printed(book.cells[1])
    assert texts(book.cells[2], "text/plain") == ["False"]


STUB = """
import sys, types
sys.modules["IPython"] = types.ModuleType("IPython")  # half imported, or a stand-in of a test's
import crosscut
assert crosscut.start(sys.argv[1]) and crosscut.stop()
with crosscut.session(sys.argv[1] + "2"):
    pass
print(crosscut.active())
"""


def test_what_only_has_the_name_of_ipython_keeps_no_session_from_its_begin_or_end(tmp_path):
    done = subprocess.run([sys.executable, "-c", STUB, tmp_path / "run"], capture_output=True,
                          text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
