"""berth_copy and berth_alloc on virtual gpus, beside one copy by the driver: the same bytes, and
times of the virtual clock. The advice is that of a recorded node with the same gpus. Prints TAP.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, Daemon  # noqa: E402
from tap import run_tests  # noqa: E402
from virtual_node import RUN  # noqa: E402
from virtual_node import NODES as STANDINS  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", BIN.parent)).resolve()
ROW = re.compile(r"^(host to gpu|gpu to host) +(\d+) MiB +([\d.]+) ms +([\d.]+) ms +([\d.]+) .*?  "
                 r"(same bytes|WRONG BYTES)  (.*)$", re.MULTILINE)


def described(folder, gpus):
    """The description of a node with that many gpus, which really moves all bytes."""
    lines = (STANDINS / "h200x4.node").read_text().splitlines()
    kept = [line for line in lines
            if (not line.startswith("device ") or int(line.split()[1]) < gpus) and
            (gpus > 1 or " peer " not in line)]
    path = pathlib.Path(folder) / "virtual.node"
    path.write_text("\n".join(kept) + "\nbytes 1000000000000\n")
    return path


@contextlib.contextmanager
def copied(gpus, node=NODES / "h100x2", sizes=("1", "8", "96")):
    """Rows of the program: (direction, MiB, ratio, how)."""
    with tempfile.TemporaryDirectory(prefix="berth-copy-") as folder:
        with Daemon("--node", node) as daemon:
            done = subprocess.run(
                [RUN, described(folder, gpus), BUILD / "bench/copy", "--tries", "5", *sizes],
                env={**os.environ, "STANDIN": str(BUILD / "standin"),
                     "BERTH_SOCKET": daemon.socket},
                capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        rows = ROW.findall(done.stdout)
        assert len(rows) == 2 * len(sizes), done.stdout
        assert all(row[5] == "same bytes" for row in rows), done.stdout
        yield [(row[0], int(row[1]), float(row[4]), row[6]) for row in rows], done.stdout


def two_ports_are_used():
    """With measured advice large copies go over both gpus' ports, small ones as one."""
    with copied(2) as (rows, said):
        assert "host memory: mmap, mbind to numa0, cuMemHostRegister" in said, said
        for direction, size, ratio, how in rows:
            if size == 1:
                assert how == "one copy: too small to gain" and ratio > 0.98, said
            else:
                assert "% through gpu1 in pieces of" in how, said
                assert ratio > (1.85 if size == 96 else 1.5), said


def one_gpu_is_not_slower():
    with copied(1) as (rows, said):
        for row in rows:
            assert row[2] > 0.98, said
            assert row[3].startswith("one copy: "), said


def nothing_measured_is_not_slower():
    """A node without measurements advises one copy, which is what is made."""
    with tempfile.TemporaryDirectory(prefix="berth-copy-") as folder:
        node = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "h100x2", node)
        about = json.loads((node / "node.json").read_text())
        del about["measurements"]
        (node / "node.json").write_text(json.dumps(about))
        with copied(2, node, ("96",)) as (rows, said):
            for row in rows:
                assert row[2] > 0.98 and row[3] == "one copy: nothing known is faster", said


def another_machines_advice_is_not_taken():
    """Gpus that the daemon does not know, as those of another machine."""
    with copied(2, NODES / "gh200-quad", ("96",)) as (rows, said):
        for row in rows:
            assert row[2] > 0.98 and row[3] == "one copy: the daemon does not know the gpu", said


if __name__ == "__main__":
    sys.exit(run_tests([two_ports_are_used, one_gpu_is_not_slower, nothing_measured_is_not_slower,
                        another_machines_advice_is_not_taken]) > 0)
