#!/usr/bin/env python3
"""Carries out the steps of the Containerfile without a container engine, and looks at the demo.

Each step runs in mounts of its own: at WORKDIR a fresh copy of what an engine would be sent, an
empty home, and the 64 MiB of shared memory that engines give. Its environment is empty but for what
the Containerfile sets and what leads to packages and compiled files from here (PIP_*, certificates,
proxies, CCACHE_DIR). A step that installs Debian packages is left out where they are installed;
each must stand in tools/apt.txt. What else of this machine's is under /usr stays: that nothing of
it is needed, only an engine can show.

Usage: check_container.py    Wants Debian 12, and root or a kernel that lets users make mounts.
Works in build/container. Exit status 1 where a step fails or the demo's report is not whole.
"""

import fnmatch
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "container"
COPY, HOME, LOG = WORK / "tree", WORK / "home", WORK / "log"
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # as in debian:12
LEADS_TO_PACKAGES = re.compile(r"PIP_\w+|SSL_CERT_\w+|(https?|no)_proxy", re.I)
MOUNTED = """set -e
mount -t tmpfs -o size=64m tmpfs /dev/shm
mount -t tmpfs tmpfs "$(dirname "$1")"
mkdir "$1"
mount --bind "$2" "$1"
cd "$1"
shift 2
exec env -i "$@"
"""


class Failed(Exception):
    pass


def steps_of(text):
    """[(instruction, what follows it)] of a Containerfile."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in whole.splitlines() if line.strip()]


def not_sent(folder, names):
    """Those of a folder's names that .dockerignore leaves out: `**/NAME` anywhere, NAME on top."""
    patterns = (ROOT / ".dockerignore").read_text().split()
    top = pathlib.Path(folder) == ROOT
    return {name for name in names for pattern in patterns
            if fnmatch.fnmatch(name, pattern.removeprefix("**/"))
            and (top or pattern.startswith("**/"))}


def debian_packages(command):
    """What a command asks apt-get to install."""
    found = re.search(r"apt-get install ([^&|;]*)", command)
    return [word for word in shlex.split(found[1]) if not word.startswith("-")] if found else []


def installed(package):
    asked = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package],
                           capture_output=True, text=True)
    return asked.stdout == "install ok installed"


def lead_to_packages():
    """What of this environment a build argument or an engine's settings would bring along."""
    found = {name: value for name, value in os.environ.items()
             if LEADS_TO_PACKAGES.fullmatch(name)}
    settings = pathlib.Path.home() / ".config" / "pip" / "pip.conf"
    if settings.exists():
        found.setdefault("PIP_CONFIG_FILE", str(settings))
    compiled = pathlib.Path.home() / ".cache" / "ccache"
    return found | {"CCACHE_DIR": os.environ.get("CCACHE_DIR", str(compiled))}


class Image:
    """What the steps so far have made of the machine."""

    def __init__(self):
        self.environment = {"PATH": SEARCHED, "HOME": str(HOME)} | lead_to_packages()
        self.workdir = None

    def run(self, command):
        """Runs a command (a list) at WORKDIR; returns its output, which LOG holds meanwhile."""
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        own = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        with LOG.open("w") as log:
            done = subprocess.run([*own, "sh", "-c", MOUNTED, "sh", self.workdir, COPY, *settings,
                                   *command], stdout=log, stderr=subprocess.STDOUT)
        printed = LOG.read_text(errors="replace")
        if done.returncode != 0:
            raise Failed(f"ended with {done.returncode}:\n{printed[-4000:]}")
        return printed

    def install(self, packages, command):
        named = (ROOT / "tools" / "apt.txt").read_text().split("\n")
        unknown = set(packages) - {line.split()[0] for line in named if line[:1] not in ("", "#")}
        if unknown:
            raise Failed(f"not in tools/apt.txt: {', '.join(sorted(unknown))}")
        if not all(map(installed, packages)):
            subprocess.run(["sh", "-c", command], check=True)

    def step(self, instruction, text):
        """Carries one step out; what CMD printed, None of the others."""
        if instruction == "WORKDIR":
            self.workdir = text
        elif instruction == "COPY" and text == ". .":
            shutil.copytree(ROOT, COPY, symlinks=True, ignore=not_sent, dirs_exist_ok=True)
        elif instruction == "ENV":
            name, value = text.split("=", 1)
            self.environment[name] = value.replace("$PATH", self.environment["PATH"])
        elif instruction == "RUN" and debian_packages(text):
            self.install(debian_packages(text), text)
        elif instruction == "RUN":
            self.run(["sh", "-c", text])
        elif instruction == "CMD":
            return self.run(json.loads(text))
        elif instruction not in ("FROM", "ARG"):
            raise Failed("is no step that this check knows")
        return None


def check_demo(printed):
    if "Nothing is missing" not in printed:
        raise Failed("the demo's report does not say that nothing is missing")
    if not (COPY / "build" / "demo" / "report.html").exists():
        raise Failed("the demo made no page")


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    COPY.mkdir(parents=True)
    HOME.mkdir()
    image, printed = Image(), None
    for instruction, text in steps_of((ROOT / "Containerfile").read_text()):
        begin = time.monotonic()
        step = f"{instruction} {text}"
        try:
            printed = image.step(instruction, text)
            if instruction == "CMD":
                check_demo(printed)
        except Failed as failure:
            sys.exit(f"Containerfile: {step}: {failure}")
        print(f"{time.monotonic() - begin:7.1f} s  {step}", flush=True)
    if printed is None:
        sys.exit("Containerfile: no CMD at its end: nothing was shown")


if __name__ == "__main__":
    main()
