"""Python stacks of operators in real PyTorch programs recorded with --python=calls."""

import json
import pathlib
import subprocess
import sys
import textwrap

from runs import crosscut, record_script, table

TRAINING = textwrap.dedent("""\
    import json, sys, torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(8, 8)

        def forward(self, x):
            y = torch.tanh(self.first(x))
            return (torch.tanh(y)
                    @ x.t())

    def loss_of(model, x):
        out = model(x)
        return out.square().mean()

    def train(model, x):
        for _ in range(3):
            loss_of(model, x).backward()

    def main():
        torch.set_num_threads(1)
        train(Block(), torch.ones(4, 8))

    main()
    """)


def _own(stack):
    """The frames of the script itself, as (line, function)."""
    frames = [frame.split(" ", 1) for frame in stack.split(";") if frame.startswith("run.py:")]
    return [(int(place.split(":")[1]), function) for place, function in frames]


def _line(text, source=TRAINING):
    """The number of the only line that says so."""
    [number] = [n for n, line in enumerate(source.splitlines(), 1) if line.strip() == text]
    return number


def _record(folder, source, *flags):
    run = pathlib.Path(folder) / "run"
    done = record_script(run, source, "--python=calls", *flags)
    assert done.returncode == 0, done.stderr
    return run


def test_each_operator_says_the_lines_that_called_it(tmp_path):
    run = _record(tmp_path, TRAINING, "--control-steps=0")
    rows = table(run, "operator_stacks")
    to_loss = [(_line("main()"), "<module>"),
               (_line("train(Block(), torch.ones(4, 8))"), "main"),
               (_line("loss_of(model, x).backward()"), "train")]
    to_model = [*to_loss, (_line("out = model(x)"), "loss_of")]
    in_loss = [*to_loss, (_line("return out.square().mean()"), "loss_of")]

    def stacks(operator, column="stack"):
        return sorted((_own(row[column]), row["count"]) for row in rows
                      if row["operator"] == operator and row["forward"] != "")

    forward = {row["operator"]: (_own(row["stack"]), row["count"]) for row in rows
               if row["forward"] == "" and row["operator"].startswith("aten::")}
    block = "forward" if "Block" not in json.dumps([r["stack"] for r in rows]) else "Block.forward"
    assert forward["aten::square"] == (in_loss, 3)
    in_first = [*to_model, (_line("y = torch.tanh(self.first(x))"), block)]
    assert forward["aten::linear"] == (in_first, 3)
    tanh = sorted(_own(row["stack"]) for row in rows
                  if row["operator"] == "aten::tanh" and row["forward"] == "")
    assert tanh == sorted([in_first, [*to_model, (_line("return (torch.tanh(y)"), block)]])
    # Nodes of the backward pass: called by backward(), caused by the forward lines.
    called = [*to_loss]
    for node, lines in (("MeanBackward0", in_loss), ("AddmmBackward0", in_first)):
        assert stacks(node) == [(called, 3)], node
        assert stacks(node, "forward_stack") == [(lines, 3)], node
    assert sorted(_own(row["forward_stack"]) for row in rows
                  if row["operator"] == "aten::tanh_backward") == tanh
    functions = {row["name"]: row for row in table(run, "functions")
                 if row["layer"] == "framework"}
    for column in ("count", "total_ns", "self_ns"):
        sums = {}
        for row in rows:
            sums[row["operator"]] = sums.get(row["operator"], 0) + row[column]
        assert sums == {name: row[column] for name, row in functions.items()}, column


def test_flame_graphs_hold_all_that_was_recorded(tmp_path):
    run = _record(tmp_path, TRAINING, "--control-steps=0")
    crosscut("export", run, "--to=collapsed", "-o", tmp_path / "flame")
    lines = (tmp_path / "flame").read_text().splitlines()
    own = {}
    for line in lines:
        stack, _, ns = line.rpartition(" ")
        assert int(ns) > 0
        leaf = stack.split(";")[-1]
        own[leaf] = own.get(leaf, 0) + int(ns)
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)
    for row in table(run, "functions"):
        # An operation has its own time in a flame graph, and none in the table.
        if row["layer"] == "framework" and row["self_ns"] > 0 and ";" not in row["name"]:
            assert own[row["name"]] == row["self_ns"], row
    crosscut("export", run, "--to=speedscope", "-o", tmp_path / "flame.json")
    file = json.loads((tmp_path / "flame.json").read_text())
    frames, total = file["shared"]["frames"], {}
    assert file["profiles"]
    for profile in file["profiles"]:
        open_frames, last = [], profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= last
            last = event["at"]
            if event["type"] == "O":
                open_frames.append((event["frame"], last))
            else:
                frame, begin = open_frames.pop()
                assert frame == event["frame"]
                # What runs inside a namesake has been counted with it.
                name = frames[frame]["name"]
                if name not in (frames[outer]["name"] for outer, _ in open_frames):
                    total[name] = total.get(name, 0) + last - begin
        assert open_frames == [] and last <= profile["endValue"]
    for row in table(run, "functions"):
        if row["layer"] == "framework":
            assert total[row["name"]] == row["total_ns"], row
    [forward] = [f for f in frames if f["name"].endswith("forward") and f.get("file") == "run.py"]
    assert forward["line"] == _line("def forward(self, x):")


COMPILED = textwrap.dedent("""\
    import torch

    def model(x):
        return inner(x).relu()

    def inner(x):
        return x @ x.t()

    def main(compiled):
        x = torch.ones(4, 4)
        for _ in range(3):
            compiled(x)

    torch.set_num_threads(1)
    main(torch.compile(model, backend="{backend}"))
    """)


def test_a_compilation_is_one_span_not_thousands(tmp_path):
    for backend in ("eager", "aot_eager"):
        folder = tmp_path / backend
        folder.mkdir()
        run = _record(folder, COMPILED.replace("{backend}", backend))
        rows = {row["name"]: row for row in table(run, "functions") if row["layer"] == "python"}
        assert 1 <= rows["torch.compile"]["count"] < 50  # Dynamo is asked about each function
        crosscut("export", run, "--to=collapsed", "-o", folder / "flame")
        inside = [line.split(";torch.compile", 1)[1]
                  for line in (folder / "flame").read_text().splitlines()
                  if ";torch.compile" in line]
        assert inside
        assert not [line for line in inside if ".py:" in line]
        called = sum(row["count"] for name, row in rows.items()
                     if "(symbolic_convert.py:" in name or "(output_graph.py:" in name)
        assert called < 500  # at import; translating the bytecode of these two takes thousands
        # What was compiled runs as what it is.
        assert any(name.startswith("main (") for name in rows)


PROFILED = textwrap.dedent("""\
    import json, sys, torch
    from crosscut.torch import profile

    def model(x):
        y = torch.tanh(x)
        return torch.tanh(y)

    def train(x):
        model(x).sum().backward()

    torch.set_num_threads(1)
    x = torch.ones(4, 4, requires_grad=True)
    train(x)
    results = {}
    for name, stacks in (("plain", False), ("stacks", True), ("after", False), ("again", True)):
        with profile(with_stack=stacks) as prof:
            for _ in range(3):
                train(x)
            torch.square(x)
        rows = prof.key_averages()
        results[name] = {row.key: row.count for row in rows}
        results[name + " python"] = sum(
            row["count"] for row in prof.run.table("functions").rows() if row["layer"] == "python")
        if stacks:
            grouped = prof.key_averages(group_by_stack_n=2)
            results[name + " grouped"] = sorted([row.key, row.count, row.stack] for row in grouped)
            results["table"] = grouped.table(row_limit=-1)
            prof.export_stacks(sys.argv[1])
    print(json.dumps(results))
    """)


def test_a_profile_with_stacks_says_where_operators_were_called(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(PROFILED)
    done = subprocess.run([sys.executable, script, tmp_path / "stacks"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)

    def at(text, function):
        return f"run.py({_line(text, PROFILED)}): {function}"

    model, caller = at("def model(x):", "model"), at("def train(x):", "train")
    grouped = [(key, count, tuple(stack)) for key, count, stack in results["stacks grouped"]]
    for key in ("aten::tanh", "TanhBackward0", "aten::tanh_backward"):
        assert [row for row in grouped if row[0] == key] == [
            (key, 6, ("<built-in function torch.tanh>", model))]
    assert [row for row in grouped if row[0] == "<built-in function torch.tanh>"] == [
        ("<built-in function torch.tanh>", 6, (model, caller))]
    # The profile began inside the script's own code, in a line that is none of a call.
    assert [row for row in grouped if row[0] == "aten::square"] == [
        ("aten::square", 1, ("<built-in function torch.square>",
                             at("with profile(with_stack=stacks) as prof:", "<module>")))]
    assert "Source Location" in results["table"] and model in results["table"]
    assert results["plain"] == results["after"]
    for stacks in (results["stacks"], results["again"]):  # Python functions are rows there, too
        assert {key: stacks.get(key) for key in results["plain"]} == results["plain"]
    first, again = ([row for row in results[f"{name} grouped"] if not row[0].startswith("<")
                     and "): " not in row[0]] for name in ("stacks", "again"))
    assert first == again and len(first) > 10
    assert results["plain python"] == 0 and results["stacks python"] > 0
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert lines
    for line in lines:
        stack, value = line.split(" ")
        assert int(value) > 0 and "run.py(" in stack
