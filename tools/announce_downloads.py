"""Says what pip is about to download where that is much: announce_downloads.py REQUIREMENTS.

PyTorch's build for the CPU alone is small, but is not on every index and not for every Python: pip
then takes the one for CUDA, with gigabytes of NVIDIA's libraries. Only words; never fails.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request

MUCH = 1 << 30  # bytes


def torch_line(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        found = re.search(r"^torch==\S+", file.read(), re.M)
    return found[0] if found else ""


def planned(requirement: str) -> list[str]:
    """The addresses of what pip would install for it."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-",
         "--disable-pip-version-check", requirement],
        capture_output=True, text=True, check=True)
    return [item["download_info"]["url"] for item in json.loads(done.stdout)["install"]]


def size_of(url: str) -> int:
    if url.startswith("file:"):
        return 0
    request = urllib.request.Request(url, method="HEAD")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return int(answer.headers["Content-Length"])


def main() -> None:
    requirement = torch_line(sys.argv[1])
    urls = planned(requirement) if requirement else []
    if not any("nvidia" in os.path.basename(url) for url in urls):
        return
    say = f"setup: no CPU build of {requirement} for Python {sys.version_info[0]}."
    say += f"{sys.version_info[1]} where pip looks: it takes the one for CUDA"
    print(say, file=sys.stderr)
    total = sum(map(size_of, urls))
    if total > MUCH:
        print(f"setup: {len(urls)} packages, {total / MUCH:.1f} GiB to download; an index that "
              "has the CPU build can be named in PIP_EXTRA_INDEX_URL", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # pip itself will say what is wrong
        print(f"setup: what pip will download is not known ({error})", file=sys.stderr)
