"""The mistakes that messages.txt shows the answers to. In commands and settings, {scene} is the
folder that they run in, {python} this Python, {pid} a process without Crosscut."""

from __future__ import annotations

from dataclasses import dataclass, field

PYTHON = "python -c 'import crosscut; {}'"


@dataclass(frozen=True)
class Case:
    name: str
    command: str
    env: dict[str, str] = field(default_factory=dict)
    nobody: bool = False  # where root runs the tests, who may read everything: as nobody
    stdout: bool = False  # behind stderr stands what the command prints
    folder: str = ""  # of the scene: where it runs, where not in the scene itself


def python(name, code, **options):
    return Case(name, PYTHON.format(code), **options)


COMMAND_LINES = [
    Case("verb-misspelt", "crosscut repot run"),
    Case("verb-unknown", "crosscut frobnicate"),
    Case("verb-is-a-script", "crosscut train.py"),
    Case("verb-is-a-run", "crosscut run"),
    Case("verb-of-a-group-misspelt", "crosscut tensorflow instal"),
    Case("verb-of-a-group-missing", "crosscut tensorflow"),
    Case("flag-misspelt", "crosscut record --sorces=pytorch -- true"),
    Case("flag-of-report-misspelt", "crosscut report run --frmat=json"),
    Case("flag-unknown", "crosscut report run --colour"),
    Case("flag-without-its-value", "crosscut export run --to"),
    Case("flag-missing", "crosscut export run -o trace.gz"),
    Case("flag-of-doctor-misspelt", "crosscut doctor --biuld"),
    Case("flag-of-validate-misspelt", "crosscut validate --pars=3 -- true"),
    Case("flags-that-exclude-each-other", "crosscut start {pid} --now --at-step=3"),
    Case("help-of-a-verb-misspelt", "crosscut help repot"),
    Case("flag-then-a-run-that-is-not-there", "crosscut open --steps 17 none"),
    Case("flag-with-an-empty-value", "crosscut report --format= run"),
    Case("argument-too-many", "crosscut info run runs"),
    Case("argument-missing", "crosscut info", folder="elsewhere"),
    Case("control-characters-in-a-setting", "crosscut record '--sources=a\x1b[31mb' -- true"),
    Case("a-newline-in-a-name", "crosscut info 'a\ncrosscut: b'"),
]

COMPARISONS = [
    Case("diff-of-nothing", "crosscut diff"),
    Case("diff-of-three", "crosscut diff run run run"),
    Case("diff-without-steps-to-compare", "crosscut diff trace.json trace.json --fail-above=5%"),
    Case("diff-above-no-number", "crosscut diff run run --fail-above=much"),
    Case("diff-with-a-baseline-that-is-not-there", "crosscut diff baseline:main run"),
    Case("baseline-with-a-path-for-a-name", "crosscut baseline save ../main run"),
    Case("baseline-to-remove-that-is-not-there", "crosscut baseline rm main"),
    Case("baseline-of-what-is-no-run", "crosscut baseline save main train.py"),
    Case("baseline-of-a-broken-run", "crosscut baseline save main half"),
    Case("baselines-where-none-are", "crosscut baseline list"),
]

NAMES = [
    Case("table-misspelt", "crosscut table run operation"),
    Case("table-unknown", "crosscut table run zebra"),
    Case("table-of-the-newest-run-misspelt", "crosscut table overlp"),
    Case("table-of-the-newest-run-unknown", "crosscut table zebra"),
    Case("source-misspelt", "crosscut record --sources=pytroch -- true"),
    Case("source-unknown", "crosscut record --sources=pytorch,zebra -- true"),
    Case("source-misspelt-in-the-environment", "crosscut record -- true",
         {"CROSSCUT_SOURCES": "pytroch"}),
    Case("python-level-misspelt", "crosscut record --python=boundry -- true"),
    Case("python-level-misspelt-in-the-environment", "crosscut record -- true",
         {"CROSSCUT_PYTHON": "smaples"}),
    Case("plan-misspelt", "crosscut record --plan=balancd -- true"),
    Case("plan-with-a-level-misspelt", "crosscut record --plan=everthing=3 -- true"),
    Case("plan-unknown", "crosscut record --plan=zebra -- true"),
    Case("plan-names-a-level-twice", "crosscut record --plan=control=1,control=2 -- true"),
    Case("budget-unknown", "crosscut record --budget=none -- true"),
    Case("layer-misspelt", "crosscut record --wrap=sim:simulater -- true"),
    Case("layer-unknown", "crosscut record --wrap=sim:zebra -- true"),
    Case("wrap-without-a-module", "crosscut record --wrap=:data -- true"),
    Case("table-sort-misspelt", "crosscut table run overlap --sort=-nss"),
    Case("table-where-misspelt", "crosscut table run overlap --where='layer=python'"),
    Case("table-where-without-operator", "crosscut table run overlap --where='ns 1ms'"),
    Case("table-where-no-number", "crosscut table run overlap --where='ns > long'"),
    Case("table-where-texts-in-order", "crosscut table run overlap --where='layers > a'"),
    Case("table-limit-no-number", "crosscut table run overlap --limit=few"),
    Case("report-summary-as-a-page", "crosscut report run --summary --format=html"),
    Case("format-of-report-misspelt", "crosscut report run --format=jsn"),
    Case("format-of-table-unknown", "crosscut table run overlap --format=pdf"),
    Case("format-of-export-misspelt", "crosscut export run --to=perfeto -o x"),
    Case("export-over-its-input", "crosscut export trace.json --to=chrome -o ./trace.json"),
    Case("format-of-validate-misspelt", "crosscut validate --format=jsn -- true"),
    Case("plugin-misspelt", "crosscut record --plugin=tensorflow-plugin -- true"),
    Case("plugin-missing", "crosscut record --plugin=./no.so -- true"),
    Case("plugin-with-a-colon", "crosscut record --plugin=a:b.so -- true"),
]

INPUTS = [
    Case("input-missing", "crosscut info zebra"),
    Case("input-misspelt", "crosscut info runs/frist"),
    Case("input-unreadable", "crosscut info secret.json", nobody=True),
    Case("input-unreadable-folder", "crosscut info locked", nobody=True),
    Case("input-of-another-user", "crosscut info /etc/shadow", nobody=True),
    Case("input-empty", "crosscut info empty"),
    Case("input-empty-folder", "crosscut info nothing"),
    Case("input-foreign", "crosscut info notes.txt"),
    Case("input-foreign-binary", "crosscut info binary"),
    Case("input-zip", "crosscut info archive.zip"),
    Case("input-sqlite", "crosscut info base.sqlite"),
    Case("input-page", "crosscut info report.html"),
    Case("input-gzip-without-a-trace", "crosscut info text.gz"),
    Case("input-program", "crosscut info a.out"),
    Case("input-python-script", "crosscut report train.py"),
    Case("input-python-script-by-its-first-line", "crosscut report noext"),
    Case("input-shell-script", "crosscut report launch.sh"),
    Case("input-folder-of-runs", "crosscut report runs"),
    Case("input-folder-of-one-run", "crosscut report only"),
    Case("input-folder-of-traces", "crosscut report traces"),
    Case("input-folder-of-neither", "crosscut report papers"),
    Case("input-log-of-a-run", "crosscut report run/p1-abcdef.crosscut"),
    Case("input-run-json", "crosscut report run/run.json"),
    Case("input-pipe", "crosscut report pipe"),
    Case("input-trace-without-events", "crosscut info none.json"),
    Case("input-json-that-is-no-trace", "crosscut info no-events.json"),
    Case("input-half-written-trace", "crosscut info half.json", stdout=True),
    Case("input-half-written-gzip", "crosscut info half.json.gz", stdout=True),
    Case("input-cut-in-its-first-event", "crosscut info first-event.json"),
    Case("input-half-written-log", "crosscut table half gaps", stdout=True),
    Case("input-log-without-a-header", "crosscut table stub gaps", stdout=True),
    Case("input-half-written-run-json", "crosscut table broken gaps", stdout=True),
    Case("input-newer-run", "crosscut info newer"),
    Case("input-newer-import", "crosscut info newer-import"),
    Case("input-newer-log", "crosscut table newer-log gaps", stdout=True),
    Case("import-missing", "crosscut import zebra -o made"),
    Case("import-misspelt", "crosscut import trase.json -o made"),
    Case("import-a-run", "crosscut import run -o made"),
    Case("import-a-folder", "crosscut import traces -o made"),
    Case("import-foreign", "crosscut import trace.json notes.txt -o made"),
    Case("import-damaged", "crosscut import first-event.json -o made"),
    Case("import-into-what-is-there", "crosscut import trace.json -o run"),
]

COMMANDS = [
    Case("command-missing", "crosscut record"),
    Case("command-misspelt", "crosscut record -- pyhton train.py", {"PATH": "{scene}/bin"}),
    Case("command-unknown", "crosscut record -- zebra", {"PATH": "{scene}/bin"}),
    Case("command-is-a-script", "crosscut record -- train.py", {"PATH": "{scene}/bin"}),
    Case("command-is-not-executable", "crosscut record -- ./train.py"),
    Case("command-is-a-shell-script-that-is-not-executable", "crosscut record -- ./plain.sh"),
    Case("command-without-its-folder", "crosscut record -- launch.sh", {"PATH": "{scene}/bin"}),
    Case("command-path-misspelt", "crosscut record -- ./lanch.sh"),
    Case("command-without-its-interpreter", "crosscut record -- ./nointerpreter"),
    Case("command-is-a-folder", "crosscut record -- ./runs"),
    Case("record-over-a-folder-that-is-no-run", "crosscut record -o papers -- true"),
    Case("record-an-old-python", "crosscut record -o old -- {python} -S old.py"),
    Case("start-in-no-process", "crosscut start 99999999"),
    Case("start-in-nothing", "crosscut start zebra"),
    Case("start-in-a-process-without-crosscut", "crosscut start {pid}"),
    Case("stop-a-run-that-has-ended", "crosscut stop run"),
]

NOT_RECORDED = [
    Case("table-samples-not-recorded", "crosscut table run samples"),
    Case("table-memory-not-recorded", "crosscut table run memory"),
    Case("table-memory-leaks-not-recorded", "crosscut table run memory_leaks --format=json"),
    Case("table-operators-not-recorded", "crosscut table run operators"),
    Case("table-kernels-not-recorded", "crosscut table run kernels"),
    Case("table-steps-not-recorded", "crosscut table run steps"),
    Case("table-progress-not-recorded", "crosscut table run progress"),
    Case("table-without-rows", "crosscut table run drops"),
]

PYTHONS = [
    python("read-missing", 'crosscut.read("zebra")'),
    python("read-a-script", 'crosscut.read("train.py")'),
    python("read-a-table-misspelt", 'crosscut.read("run").table("oparations")'),
    python("read-a-table-unknown", 'crosscut.read("run").table("zebra")'),
    python("read-a-column-misspelt", 'crosscut.read("run").table("overlap")["proces"]'),
    python("to-pandas-without-pandas", 'crosscut.read("run").table("overlap").to_pandas()',
           env={"PYTHONPATH": "{scene}/absent:{package}"}),
    python("to-polars-without-polars", 'crosscut.read("run").table("overlap").to_polars()',
           env={"PYTHONPATH": "{scene}/absent:{package}"}),
    python("to-arrow-without-pyarrow", 'crosscut.read("run").table("overlap").to_arrow()',
           env={"PYTHONPATH": "{scene}/absent:{package}"}),
    python("read-a-table-where-misspelt",
           'crosscut.read("run").table("overlap", where="nss > 1ms")'),
    python("read-a-report-misspelt", 'crosscut.read("run").report("markdwn")'),
    Case("table-parquet-without-pyarrow", "python -m crosscut table run overlap --format=parquet",
         {"PYTHONPATH": "{scene}/absent:{package}"}),
    Case("plot-without-matplotlib", "python -m crosscut plot run -o plots",
         {"PYTHONPATH": "{scene}/absent:{package}"}),
    Case("map-without-pyarrow", "python -m crosscut map run -o parts",
         {"PYTHONPATH": "{scene}/absent:{package}"}),
    Case("map-a-run-that-is-not-there", "crosscut map runn -o parts"),
    Case("map-without-a-folder", "crosscut map run"),
    Case("reduce-on-misspelt", "crosscut reduce run --on=rya -o cluster"),
    Case("reduce-into-something-else", "crosscut reduce run -o run"),
    Case("plot-without-a-run", "python -m crosscut plot -o plots", folder="elsewhere"),
    python("session-option-unknown", "crosscut.session(unknown=3)"),
    python("session-option-misspelt", 'crosscut.session("r", plann="full")'),
    python("session-python-level-misspelt", 'crosscut.session(python="boundry")'),
    python("session-without-a-run", "crosscut.session().run"),
    python("start-option-misspelt", "crosscut.start(memory_mb=64)"),
    python("start-policy-misspelt", 'crosscut.start(policy="drop-newst")'),
    python("start-python-level-misspelt", 'crosscut.start(python="boundry")'),
    python("start-plan-misspelt", 'print(crosscut.start(plan="balancd"), crosscut.error())',
           stdout=True),
    python("start-source-misspelt", "print(crosscut.start(), crosscut.error())", stdout=True,
           env={"CROSSCUT_SOURCES": "pytroch"}),
    python("arm-option-misspelt", "crosscut.arm(keep_secnds=3)"),
    python("schedule-option-misspelt", "crosscut.schedule(wiat=1)"),
    python("wrap-layer-misspelt", 'crosscut.wrap("math", layer="simulater")'),
    python("wrap-option-misspelt", 'crosscut.wrap("math", layr="data")'),
    Case("doctor-flag-misspelt", "python -m crosscut doctor --biuld"),
    Case("shim-without-pytorch", "python -S -m crosscut.adapters.torch_build"),
    Case("shim-without-a-compiler", "python -m crosscut.adapters.torch_build",
         {"PYTHONPATH": "{scene}/site:{package}", "PATH": "{scene}/bin"}),
    Case("shim-with-a-compiler-that-is-missing", "python -m crosscut.adapters.torch_build",
         {"PYTHONPATH": "{scene}/site:{package}", "CXX": "g++-99"}),
]

CASES = COMMAND_LINES + COMPARISONS + NAMES + INPUTS + COMMANDS + NOT_RECORDED + PYTHONS
