"""write_page.py FILE: the page of a synthetic job of 600 ranks, for tests/page/cluster.test.mjs."""

import pathlib
import sys
import tempfile

from crosscut.cluster import dataset, merging, page
from crosscut.cluster.finish import finish
from synthetic import Job, partials_of

JOB = Job(ranks=600, per_host=8, steps=60, late=333, late_ns=3_000_000, collectives=2)


def main():
    whole = merging.merge(partials_of(JOB))
    with tempfile.TemporaryDirectory() as folder:
        dataset.write(folder, whole, finish(whole))
        pathlib.Path(sys.argv[1]).write_text(page.render(dataset.open_cluster(folder)))


if __name__ == "__main__":
    main()
