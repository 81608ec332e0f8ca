"""Every command's default answer fits a screen of 80 x 40 and begins with the answer; so do helps. Prints TAP."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES, RUN, Daemon, fake_probe  # noqa: E402
from screen import WIDTH, shown  # noqa: E402
from tap import run_tests  # noqa: E402

ROWS = 40
RATE = r"[0-9.]+ [KMGT]?B/s"
# Words of a command, and how its first line begins. A command that none of these is of prints for
# a program (exec, export, slurm), writes a file, or fills the terminal (top, watch): others test it.
SCREENS = [
    (["topo"], rf"([0-9]+ gpus( in 4 modules)?, (each at its own (L3|NUMA node)|all at numa0); slowest pair {RATE}|no gpu; [0-9]+ cores? and [0-9.]+ .iB in )"),
    (["matrix"], r"[0-9]+ of [0-9]+ metrics have values; "),
    (["curves"], r"7 metrics have curves; of one: berth curves cpu_copy core0$|no curves: no transfer was measured at two sizes$"),
]


def fits(*words, environment=None):
    ended, lines = shown(*words, environment=environment)
    text = "\n".join(lines)
    assert ended in (0, 1, 3) and 0 < len(lines) <= ROWS, (words, ended, len(lines), text)
    assert not [line for line in lines if len(line) > WIDTH], (words, text)
    return lines


def of_recorded_nodes():
    for name in ("mi250x", "gh200-quad", "h200x4"):
        for words, first in SCREENS:
            lines = fits("--node", NODES / name, *words)
            assert re.match(first, lines[0]), (name, words, lines[0])


def of_this_machine():
    with fake_probe(f"echo '{RUN}'\necho '{{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":1}}'\n") as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
        daemon.wait_ready()
        for words, first in SCREENS:
            lines = fits("--socket", daemon.socket, *words)
            assert re.match(first, lines[0]), (words, lines[0])


def helps():
    names = re.findall(r"^  ([a-z-]+)  +[a-z]", "\n".join(fits("--help")), re.MULTILINE)
    assert len(names) > 20 and {"bind", "exec", "report-time"} <= set(names), names
    for name in names:
        lines = fits(name, "--help")
        assert lines == shown("help", name)[1] and f"usage: berth {name}" in "\n".join(lines[:4]), lines
    brief, whole = "\n".join(fits("bind", "--help")), "\n".join(fits("claim", "--help"))
    assert "More of all of these: man berth" in brief and "gpus of each task; default" not in brief, brief
    assert "man berth" not in whole.split("Options of every command")[0] and "seconds, or 90m, 12h, 2d; needed" in whole, whole


if __name__ == "__main__":
    sys.exit(run_tests([helps, of_recorded_nodes, of_this_machine]) > 0)
