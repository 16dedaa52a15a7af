"""A word for `crosscut record` in the run directory. Runs in every Python from 2.7 on, and in those
that Crosscut does not record."""
import os


def leave(text):  # type: (str) -> None
    """Adds `text` to this process's note. Raises OSError or KeyError where it cannot; nothing is
    written where another folder has taken the run's place, perhaps by somebody else's link."""
    run = os.environ["CROSSCUT_RUN"]
    folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _is_other(run, os.fstat(folder)):
            path = "/proc/self/fd/%d/note-%d.txt" % (folder, os.getpid())
            note = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                os.write(note, text.encode("utf-8", "replace"))
            finally:
                os.close(note)
    finally:
        os.close(folder)


def _is_other(run, found):  # type: (str, os.stat_result) -> bool
    """Whether `record` on this machine said that its directory is another: src/runtime/
    run_folder.cc."""
    told = os.environ.get("CROSSCUT_RUN_ID", "").split(":", 4)
    if len(told) < 5 or told[4] != run:
        return False
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().replace("-", "")[:16]
    return int(told[0], 16) == int(boot, 16) and (
        (int(told[1], 16), int(told[2], 16)) != (found.st_dev, found.st_ino))
