"""A cpuset of one cpu for a test's children, by this machine's version of cgroups."""
import contextlib
import os
import pathlib

from tap import LeftOut
from berthd import until


def _top():
    """Folder of the cpusets, and name of the file with a group's effective cpus."""
    for top, cpus in ((pathlib.Path("/sys/fs/cgroup/cpuset"), "cpuset.effective_cpus"),
                      (pathlib.Path("/sys/fs/cgroup"), "cpuset.cpus.effective")):
        if (top / cpus).exists():
            return top, cpus
    raise LeftOut("no cpuset controller is mounted here")


@contextlib.contextmanager
def cpuset(cpu):
    """Returns a function by which a child confines itself to this cpu (preexec_fn)."""
    top, effective = _top()
    folder = top / f"berth-test-{os.getpid()}"
    try:
        if effective.endswith("effective"):
            (top / "cgroup.subtree_control").write_text("+cpuset")
        folder.mkdir()
    except OSError as error:
        raise LeftOut(f"no cpuset can be made here: {error}") from error
    try:
        try:
            memories = top / effective.replace("_cpus", "_mems").replace("cpus.", "mems.")
            (folder / "cpuset.mems").write_text(memories.read_text())
            (folder / "cpuset.cpus").write_text(str(cpu))
        except OSError as error:
            raise LeftOut(f"no cpuset can be made here: {error}") from error
        yield lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        until(lambda: not (folder / "cgroup.procs").read_text(), 5)
        folder.rmdir()
