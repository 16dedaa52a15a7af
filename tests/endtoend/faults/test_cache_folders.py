"""Whose folders are taken: what is loaded or believed comes from none that others can write."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from runs import PACKAGE, record

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")

NOBODY = 65534

ASK = """
import json, os, pathlib, sys
from crosscut.adapters import torch_build
torch_build.torch_folder = lambda: pathlib.Path("/nonexistent-torch")
torch_build.torch_version = lambda folder: "0.0"
library = torch_build.path()
if len(sys.argv) > 1:
    os.umask(0)
    torch_build._make_folder(library.parent)
    library.write_bytes(b"")
    library.chmod(0o755)
print(json.dumps([str(torch_build.built() or ""), torch_build.refusal(), str(library)]))
"""


def ask(home, *words):
    """built(), refusal() and path() of a cache below `home`; with a word the library is put there,
    under umask 0."""
    done = subprocess.run([sys.executable, "-c", ASK, *words], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE),
                               "XDG_CACHE_HOME": str(home / "cache")}, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_folders_are_made_for_this_user_alone_under_any_umask(tmp_path):
    found, refused, library = ask(tmp_path, "make")
    assert found == library and refused == ""
    folder = pathlib.Path(library).parent
    while folder != tmp_path / "cache":
        assert folder.stat().st_mode & 0o777 == 0o700, folder
        folder = folder.parent
    assert folder.stat().st_mode & 0o022 == 0


def test_folders_of_ours_that_others_could_write_are_taken_back(tmp_path):
    _, _, library = ask(tmp_path, "make")
    (tmp_path / "cache" / "crosscut").chmod(0o777)
    found, refused, _ = ask(tmp_path)
    assert found == "" and "crosscut can be written by every user" in refused
    assert ask(tmp_path, "make")[0] == library


@pytest.mark.parametrize("which", ["the library", "its folder", "pytorch", "crosscut", "the cache"])
@pytest.mark.parametrize("how", ["owned", "writable", "group's"])
def test_what_another_user_owns_or_can_write_is_not_loaded_and_told(tmp_path, which, how):
    _, _, library = ask(tmp_path, "make")
    entry = {"the library": pathlib.Path(library), "its folder": pathlib.Path(library).parent,
             "pytorch": tmp_path / "cache/crosscut/pytorch",
             "crosscut": tmp_path / "cache/crosscut", "the cache": tmp_path / "cache"}[which]
    if how == "owned":
        os.chown(entry, NOBODY, NOBODY)
    else:
        entry.chmod(0o777 if how == "writable" else 0o775)
    found, refused, _ = ask(tmp_path)
    if how == "group's" and which == "the cache":  # a private group is usual there
        assert found == library and refused == ""
    else:
        assert found == "" and str(entry) in refused, refused


def test_a_link_of_another_users_is_not_followed(tmp_path):
    _, _, library = ask(tmp_path, "make")
    folder = pathlib.Path(library).parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert ask(tmp_path)[0] == library
    os.lchown(folder, NOBODY, NOBODY)
    assert ask(tmp_path)[0] == ""


def test_the_folder_of_runs_is_made_for_this_user_under_any_umask(tmp_path):
    subprocess.run(["/bin/sh", "-c", 'umask 0; exec "$@"', "sh",
                    PACKAGE / "crosscut/bin/crosscut", "record", "-o", tmp_path / "a/b/run", "--",
                    "true"], check=True, capture_output=True, timeout=120)
    assert [path.stat().st_mode & 0o777 for path in
            (tmp_path / "a", tmp_path / "a/b", tmp_path / "a/b/run")] == [0o755, 0o755, 0o700]


def test_a_program_records_in_no_folder_of_another_users(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o777)
    os.chown(folder, NOBODY, NOBODY)
    script = f"import crosscut\nprint(crosscut.start({str(folder)!r}), crosscut.error())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)}, timeout=120)
    assert done.stdout.startswith("False") and "another user's folder" in done.stdout, done
    assert not list(folder.iterdir())


def test_answers_about_plugins_that_another_user_wrote_are_not_believed(tmp_path):
    """The cache says of a plugin that is none that it is good."""
    plugin = tmp_path / "plugin.so"
    plugin.write_bytes(b"no library")
    facts = plugin.stat()
    cache = tmp_path / "cache" / "crosscut"
    cache.mkdir(parents=True)
    answers = cache / "probed-plugins"
    checker = (PACKAGE / "crosscut" / "bin" / "crosscut-check-plugin").stat()
    answers.write_text(f"{checker.st_size} {checker.st_mtime_ns} "
                       f"{facts.st_size} {facts.st_mtime_ns} - {plugin}\tgood\n")

    def said():
        return record(tmp_path / "run", ["true"], "--probe-plugins", "--plugin", plugin,
                      env={"XDG_CACHE_HOME": str(tmp_path / "cache")}).stderr
    assert "plugin.so" not in said(), "one's own answers are believed"
    os.chown(answers, NOBODY, NOBODY)
    assert "plugin.so" in said()
