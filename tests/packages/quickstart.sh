#!/usr/bin/env bash
# quickstart.sh WHEEL [TORCH]: what docs/install.md promises, in an empty folder of a machine that
# has a Python and nothing else; without TORCH, what needs no PyTorch. Called by
# tools/check_wheel.sh.
set -euo pipefail
seconds() { date +%s.%N; }
took() { python3 -c "print('$1: %.1f s' % ($(seconds) - ($2)))"; }

nothing_missing() {  # report; so few steps do not check what recording cost
  if grep '^!' "$1" | grep -v '^! What recording cost'; then exit 1; fi
}

for compiler in cc gcc g++ c++ clang; do
  ! command -v "$compiler" || { echo "a compiler is here: this shows nothing"; exit 1; }
done

python3 -m venv venv
begin=$(seconds)
venv/bin/pip install --quiet --disable-pip-version-check "./$1"
took "pip install" "$begin"
installing=$(python3 -c "print($(seconds) - $begin)")
export PATH=$PWD/venv/bin:$PATH

# From no package to an answer about a script of one's own.
begin=$(seconds)
cat >script.py <<'PY'
import time
import crosscut
for _ in range(20):
    crosscut.step()
    with crosscut.operation("rest"):
        time.sleep(0.01)
    with crosscut.operation("work"):
        sum(n * n for n in range(50_000))
PY
crosscut --version
crosscut record --control-steps=0 -o run -- python script.py
crosscut report run | tee report.txt
nothing_missing report.txt
grep -Eq '^ +rest ' report.txt
crosscut report run --format=html -o report.html
grep -q '</html>' report.html
python - <<'PY'
import crosscut
table = crosscut.read("run").table("operations")
calls = dict(zip(table["operation"], table["count"]))
assert calls["rest"] == calls["work"] == 20, calls
print("as tables:", calls)
PY
took "from a script to its report" "$begin"

if [ -z "${2:-}" ]; then
  echo "quick start: passed, without PyTorch"
  exit
fi
venv/bin/pip install --quiet --disable-pip-version-check "$2"
cat >train.py <<'PY'
import torch
for _ in range(50):
    torch.add(torch.ones(3), 1)
PY
crosscut record --plan=full --control-steps=0 -o torch-run -- python train.py
crosscut report torch-run >torch-report.txt
nothing_missing torch-report.txt
calls=$(crosscut table torch-run functions | awk -F, '$2 == "aten::add" { print $3 }')
[ "$calls" = 50 ] || { echo "aten::add: $calls of 50 calls"; exit 1; }
[ ! -e ~/.cache/crosscut/pytorch ] || { echo "a shim was built"; exit 1; }
crosscut doctor

# The first minute of who has PyTorch: their own loop, unchanged, whose batches are slow.
cat >loop.py <<'PY'
import torch

words = [str(number) for number in range(200_000)]

def batch():
    lengths = [len(word) for word in sorted(words)]  # the line to blame
    return torch.tensor(lengths[:8 * 32], dtype=torch.float32).view(8, 32)

model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(100):
    loss = model(batch()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
PY
begin=$(seconds)
crosscut record python loop.py
crosscut report >verdict.txt
took "from pip install to a verdict, beside that of PyTorch" "$begin - $installing" >minute.txt
head -12 verdict.txt
cat minute.txt
blamed=$(grep -n 'the line to blame' loop.py)
head -12 verdict.txt | grep -q "loop.py:${blamed%%:*} " ||
  { echo "the verdict does not name line ${blamed%%:*} of loop.py"; exit 1; }
awk '{ exit ($(NF - 1) > 60) }' minute.txt || { echo "that is more than a minute"; exit 1; }
echo "quick start: passed"
