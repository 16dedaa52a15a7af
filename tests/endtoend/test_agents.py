"""What llms.txt and the skill tell an agent to run, run as it stands there."""

import json
import os
import re
import subprocess
import sys

import pytest

from runs import CROSSCUT, PACKAGE, ROOT

PAGES = ("llms.txt", "skills/crosscut/SKILL.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#]+)\)")
TRAIN = """
import crosscut, time
for _ in range(30):
    crosscut.step()
    with crosscut.operation("load"): time.sleep(0.002)
    with crosscut.operation("solve"):
        end = time.perf_counter() + 0.003
        while time.perf_counter() < end: pass
crosscut.step_end()
"""


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text())


def environment():
    """`crosscut` and `python` are those of this test."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CROSSCUT_")}
    folders = (str(CROSSCUT.parent), os.path.dirname(sys.executable), os.environ["PATH"])
    return {**kept, "PYTHONPATH": str(PACKAGE), "PATH": os.pathsep.join(folders)}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_works_in_the_order_of_the_page(page, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    env = environment()
    commands = 0
    for language, text in blocks(page):  # may be empty: its commands are counted
        assert language in ("sh", "python")
        for line in [text] if language == "python" else text.splitlines():
            command = [sys.executable, "-c", text] if language == "python" else ["sh", "-c", line]
            done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True,
                                  timeout=300)
            assert done.returncode == 0, (line, done.stderr)
            commands += 1
            if "record" in line or " -o " in line:
                continue
            assert done.stdout.strip(), line
            if "--summary" in line or "--format=json" in line:
                json.loads(done.stdout)
    assert commands >= 3


def test_the_summary_that_an_agent_reads_names_the_program_and_what_it_did(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    env = environment()
    lines = [line for _, text in blocks(PAGES[0]) for line in text.splitlines()]
    for line in lines[:2]:
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=env, capture_output=True,
                              text=True, timeout=300, check=True)
    summary = json.loads(done.stdout)
    assert summary["title"] == "train.py"
    operations = [row["operation"] for row in summary["operations"]["rows"]]
    assert {"load", "solve"} <= set(operations)


def test_links_of_the_pages_lead_somewhere():
    links = [(page, target) for page in PAGES for target in LINK.findall((ROOT / page).read_text())]
    assert links
    for page, target in links:
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_skill_has_the_front_matter_that_agents_choose_it_by():
    text = (ROOT / PAGES[1]).read_text()
    head = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: >-\n((?:  .+\n)+)---\n", text)
    assert head and head[1] == "crosscut"
    assert len(" ".join(head[2].split())) <= 1024
