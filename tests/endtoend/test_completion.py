"""Completion and the manual page, in the shells and by the programs that read them."""

import os
import shutil
import subprocess

import pytest

from runs import CROSSCUT


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def printed(*words):
    return subprocess.run([CROSSCUT, *words], capture_output=True, text=True, check=True).stdout


# The words of a line as they are typed, and what completes the last of them.
LINES = [
    (["re"], {"record", "reduce", "report"}),
    (["record", "--pl"], {"--plan", "--plugin"}),
    (["record", "--plan", "l"], {"light"}),
    (["record", "--shapes", "-o", "x", "--python", ""], {"off", "boundary", "samples", "calls"}),
    (["record", "--python", "off", "crosscut-no-such-progr"], {"crosscut-no-such-program"}),
    (["table", "kern"], {"kernels", "kernel_metrics", "kernel_types"}),
    (["table", "RUN", "kern"], {"kernels", "kernel_metrics", "kernel_types"}),
    (["export", "--to", "pe"], {"perfetto"}),
    (["tensorflow", ""], {"install", "remove", "status"}),
    (["tensorflow", "install", "--py"], {"--python"}),
    (["validate", "--pl"], {"--plan", "--plugin"}),  # record's
    (["validate", "--plan", "l"], {"light"}),
    (["help", "exp"], {"export"}),
    (["completion", ""], {"bash", "zsh", "fish"}),
]


@pytest.fixture
def path(tmp_path):
    """An environment with one more program, to be completed as a command."""
    program = tmp_path / "crosscut-no-such-program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


def test_names_of_files_are_no_part_of_the_scripts(tmp_path):
    """A folder's name would be run by the shell that reads them."""
    (tmp_path / ".crosscut/baselines/$(touch x)").mkdir(parents=True)
    for shell in ("bash", "zsh", "fish"):
        script = subprocess.run([CROSSCUT, "completion", shell], cwd=tmp_path, capture_output=True,
                                text=True, check=True).stdout
        assert "touch" not in script


BASH = r"""
source "$1"
shift
COMP_WORDS=(crosscut "$@")
COMP_CWORD=$#
declare -A spec=([x]=$(complete -p crosscut))
[[ ${spec[x]} == *" -F _crosscut crosscut" ]] || exit 9
_crosscut
printf '%s\n' "${COMPREPLY[@]}"
"""


def bash(script, words, env):
    return set(subprocess.run(["bash", "--norc", "-c", BASH, "bash", script, *words], env=env,
                              capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("words, answers", LINES)
@needs("bash")
def test_bash(tmp_path, path, words, answers):
    script = tmp_path / "crosscut.bash"
    script.write_text(printed("completion", "bash"))
    assert bash(script, words, path) == answers


@pytest.mark.parametrize("words, answers", [
    (["record", "--plan", "=", "l"], {"light"}),  # as bash takes --plan=l apart
    (["record", "--plan", "="], {"light", "balanced", "full"}),
    (["record", "--plan", "=", "light", "--memo"], {"--memory"}),
    (["record", "python", "--memo"], set()),  # the command's own
    (["record", "--", "crosscut-no-such-p"], {"crosscut-no-such-program"}),
    (["report", "-o", ""], set()),  # then bash takes files
])
@needs("bash")
def test_bash_words(tmp_path, path, words, answers):
    script = tmp_path / "crosscut.bash"
    script.write_text(printed("completion", "bash"))
    assert bash(script, words, path) == answers


@pytest.mark.parametrize("words, answers", LINES)
@needs("fish")
def test_fish(tmp_path, path, words, answers):
    script = tmp_path / "crosscut.fish"
    script.write_text(printed("completion", "fish"))
    done = subprocess.run(["fish", "--no-config", "-c",
                           "complete -c crosscut -e; source $argv[1]; complete -C$argv[2]",
                           script, " ".join(["crosscut", *words])],
                          env=path | {"HOME": str(tmp_path)}, capture_output=True, text=True,
                          check=True)
    assert done.stderr == ""
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == answers


# Types into an interactive zsh; what it adds to the line, or lists below it, follows. Its line
# editor says when it begins to read keys, and, by ^X, when it has read them all.
ZSH = r"""
zmodload zsh/zpty
TRAPEXIT() { zpty -d z }
zpty z "TERM=dumb zsh -f -i"
await() { seen=; until [[ $seen == *$1* ]]; do zpty -r z line && seen+=$line; done }
zpty -w z "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D
say() { print \$1''-now }; ends() { say ends }; zle -N ends; bindkey '^X' ends
zle-line-init() { say reads }; zle -N zle-line-init"
await reads-now
zpty -n -w z "$2"$'\t\t\C-x'
await ends-now
print -r -- $seen
"""


@pytest.mark.parametrize("words, answers", LINES)
@needs("zsh")
def test_zsh(tmp_path, path, words, answers):
    folder = tmp_path / "functions"
    folder.mkdir()
    (folder / "_crosscut").write_text(printed("completion", "zsh"))
    subprocess.run(["zsh", "-f", "-n", folder / "_crosscut"], check=True)
    done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", folder, " ".join(["crosscut", *words])],
                          env=path, capture_output=True, text=True, timeout=60, check=True)
    assert answers
    for answer in answers:
        assert answer in done.stdout
    assert "not found" not in done.stdout and "_arguments" not in done.stdout


@needs("groff")
def test_the_manual_page_is_clean_and_has_every_verb_and_option(tmp_path):
    page = tmp_path / "crosscut.1"
    page.write_text(printed("help", "--man"))
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=100n", page],
                          capture_output=True, text=True, check=True)
    assert done.stderr == ""
    text = done.stdout
    for word in ("crosscut record", "--stop-after-seconds", "--at-step", "tensorflow install",
                 "wall time goes", "EXIT STATUS", "crosscut-runs/", "collapsed-device"):
        assert word in text, text
