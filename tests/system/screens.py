"""Every command's default answer fits a screen of 80 x 40 and begins with the answer; so do helps. Prints TAP."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, RUN, Daemon, fake_probe  # noqa: E402
from screen import PLAIN, WIDTH, shown  # noqa: E402
from tap import run_tests  # noqa: E402

ROWS = 40
RATE = r"[0-9.]+ [KMGT]?B/s"
# Words of a command, and how its first line begins.
SCREENS = [
    (["topo"], rf"([0-9]+ gpus( in 4 modules)?, (each at its own (L3|NUMA node)|all at numa0); slowest pair {RATE}|no gpu; [0-9]+ cores? and [0-9.]+ .iB in )"),
    (["matrix"], r"[0-9]+ of [0-9]+ metrics have values; "),
    (["status"], r"ready, (last measured 20..-..-.. ..:..:.. .*|never measured)$"),
    (["claims"], r"nothing is claimed$"),
    (["tuning"], r"no launch shape is tuned for a gpu's own memory$|no gpu, so nothing to tune$"),
    (["health"], r"healthy: [0-9]+ measured values, none out of line$|unknown: nothing has been measured$"),
    (["contention"], r"[0-9]+ of [0-9]+ runs of concurrent transfers are explained by shared limits$|nothing was measured at the same time as something else$"),
    (["alloc", "4G"], r"numa0, system memory: "),
    (["bind", "-n", "2"], r"placed by locality: without traffic of these ranks no time is predicted$"),
    (["bind", "-n", "2", "--pattern", "ring", "--bytes", "64M"], r"An iteration takes |placed by locality: the time between cores was not measured \(berth probe$"),
    (["history"], r"a node folder has no history: |no finding has appeared or cleared"),
    (["report-time"], r"no reports; bind, alloc and route with --why say how to report a time$"),
    (["curves"], r"7 metrics have curves; of one: berth curves cpu_copy core0$|no curves: no transfer was measured at two sizes$"),
]


GPU_SCREENS = [
    (["route", "gpu0", "gpu1", "64M"], r"copy engine: (at least )?[0-9.]+ .s "),
    (["alloc", "4G", "--by", "gpu0:reads=4G"], r"(gpu0, device|numa4, system) memory: (at least )?[0-9.]+ .s "),
    (["bind", "-n", "4", "--pattern", "ring", "--bytes", "64M"], r"An iteration takes (at least )?[0-9.]+ .s "),
    (["bind", "-n", "4", "--host-bytes", "1G"], r"An iteration takes (at least )?[0-9.]+ .s "),
]


# What a recorded node has no answer to, and commands that lack a word: the exit status, and the error.
REFUSED = [
    (["claim", "gpu0", "--ttl", "60"], 64, "berth: claim: a claim would end with this command: "),
    (["release", "1"], 65, "berth: there is no claim 1: "),
    (["accept"], 65, "berth: mi250x is not this machine: a recorded node has no baseline to accept"),
    (["probe"], 65, "berth: mi250x is not this machine: a recorded node cannot be measured"),
    (["probe", "--records", "/dev/null"], 65, "berth: there are no records"),
    (["probe", "--ranks", "4"], 64, "berth: probe: --ranks, --launcher and --timeout are for --mpi"),
    (["probe", "--mpi"], 65, "berth: the node is reconstructed: only a live one is measured"),
    (["cancel"], 65, "berth: no probe is running"),
    (["export"], 64, "berth: export: which format? one of hwloc, "),
    (["record"], 64, "berth: record: where to? berth record FOLDER"),
    (["report"], 64, "berth: report: where to? -o FILE"),
    (["top"], 64, "berth: top: a recorded node does not change: "),
    (["exec", "true"], 64, "berth: exec: the berth is taken on this machine, "),
    (["slurm"], 0, "berth: slurm: the hook has done nothing: "),
    (["fleet"], 64, "berth: fleet: which nodes? "),
    (["kernel"], 64, "berth: kernel: of which gpu? "),
]


def fits(*words, environment=None, statuses=(0, 1, 3)):
    ended, lines = shown(*words, environment=environment)
    text = "\n".join(lines)
    assert ended in statuses and 0 < len(lines) <= ROWS, (words, ended, len(lines), text)
    assert not [line for line in lines if len(line) > WIDTH], (words, text)
    return lines


def of_recorded_nodes():
    for name in ("mi250x", "gh200-quad", "h200x4"):
        for words, first in SCREENS + GPU_SCREENS:
            lines = fits("--node", NODES / name, *words)
            assert re.match(first, lines[0]), (name, words, lines[0])


def refusals():
    for words, status, first in REFUSED:
        lines = fits("--node", NODES / "mi250x", *words, statuses=(status,))
        assert lines[0].startswith(first) and len(lines) <= 3, lines


def of_four_packages():
    """Links between all of them are one line."""
    for name in ("gh200-quad", "mi300a"):
        lines = fits("--node", NODES / name, "topo")
        assert lines[0].startswith("4 gpus, each at its own NUMA node; slowest pair ") and lines[-1].endswith("rate unknown  6 links among package0-3"), lines


def of_why():
    """What an answer rests on fits beside it, too; a pipe gets all of it."""
    for name, gpus in (("mi250x", 8), ("gh200-quad", 4), ("h200x4", 4)):
        node = ("--node", NODES / name)
        for words in ["-n", str(gpus), "--pattern", "alltoall", "--bytes", "64M"], ["-n", "16", "--tasks-per-gpu", "4", "--pattern", "ring", "--bytes", "64M", "--host-bytes", "1G"], ["-n", "2", "--host-bytes", "1G"]:
            lines = fits(*node, "bind", *words, "--why")
            assert {"Decided by"} <= set(lines) and any(line.startswith("Evidence") for line in lines), (name, words, lines)
            assert " ".join(lines).lower().count("not proven") <= 1, lines
            if name == "mi250x" and "alltoall" in words:
                assert re.search(r"  and [0-9]+ more \(--why \| less shows them\)", "\n".join(lines)), lines
                piped = subprocess.run([BIN / "berth", *node, "bind", *words, "--why"], capture_output=True, text=True, env=PLAIN, check=True).stdout
                assert " more (--why" not in piped and "HSA_ENABLE_PEER_SDMA has no effect where" in piped, piped
    for name in ("mi250x", "gh200-quad", "h200x4", "h100x4"):
        for words in ("gpu0", "gpu1", "64M"), ("numa0", "gpu0", "64M"), ("gpu1", "numa0", "1G"):
            route = fits("--node", NODES / name, "route", *words, "--why")
            assert not any(" more" in line for line in route if "(--why | less shows them)" not in line), route
    split = fits("--node", NODES / "h100x4", "route", "gpu1", "numa0", "1G", "--why")
    assert "    cudaMemcpyAsync on a stream of gpu3; likewise with gpu0, gpu2 for gpu3" in split, split
    assert re.search(r"  host_gpu_copy_engine gpu1 . numa0: [^;]* GB/s\); gpu3 . numa0: ", " ".join(line.strip() for line in split).replace("Evidence", "  Evidence").replace(" host", "  host")), split
    few = fits("--node", NODES / "h200x4", "bind", "-n", "4", "--pattern", "allreduce", "--bytes", "64K", "--why")
    assert any("bytes=32 KiB" in line for line in few), few
    sound = fits("--node", NODES / "h200x4", "health", "--why")
    assert "no finding, so no evidence; berth matrix METRIC --intervals has the values" in sound, sound
    evidence = fits("--node", NODES / "h200x4", "bind", "-n", "2", "--host-bytes", "1G", "--why")
    at = next(i for i, line in enumerate(evidence) if line.startswith("Evidence, measured 20"))
    assert any(re.fullmatch(r"  host_gpu_copy_engine (numa0 . gpu[0-3]|gpu[0-3] . numa0): [0-9.]+ GB/s \([0-9.]+ to [0-9.]+ GB/s\)", line) for line in evidence[at:]), evidence
    assert any(re.fullmatch(r"  transfer_overhead of host_gpu_copy_engine, .*: [0-9.]+ .s", line) for line in evidence[at:]), evidence


def of_this_machine():
    with fake_probe(f"echo '{RUN}'\necho '{{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":1}}'\n") as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
        daemon.wait_ready()
        for words, first in SCREENS:
            lines = fits("--socket", daemon.socket, *words)
            assert re.match(first, lines[0]), (words, lines[0])


def a_matrix_is_one_table():
    """At the metric's default axes, with an axis down the rows where the places are few; the others by option."""
    node = ("--node", NODES / "h200x4")
    for metric in ("kind_copy", "collective_bandwidth", "collective_latency"):
        lines = fits(*node, "matrix", metric)
        assert len([line for line in lines if "95 % interval" in line]) == 1, lines
        assert re.search(r"more combinations of axes with --where [a-z]+=[a-z0-9|]+, --where", " ".join(lines)), lines
        assert len([line for line in shown(*node, "matrix", metric, "--all")[1] if "95 % interval" in line]) > 7
    four = fits(*node, "matrix", "collective_latency", "--where", "members=4")
    assert "with --where operation=broadcast|reduce" in " ".join(four) and "bytes=8 B members=4 operation=allreduce" in "\n".join(four), four


def every_matrix():
    """Of any metric: without default axes of its own a row for each combination, with units of sizes."""
    for name in ("mi250x", "gh200-quad", "h200x4", "h200x1"):
        node = ("--node", NODES / name)
        metrics = [line.split()[0] for line in fits(*node, "matrix")[2:]]
        assert len(metrics) > 2, metrics
        for metric in metrics:
            lines = fits(*node, "matrix", metric)
            assert re.match(rf"{metric}: (.*[0-9] .?[a-zA-Z]|no value is known; below stands why)", lines[0]) and "=-" not in " ".join(lines), lines
    overhead = fits("--node", NODES / "h200x4", "matrix", "transfer_overhead")
    assert overhead[0] == "transfer_overhead: 248 values from 1.79 to 14.1 µs", overhead
    assert "     12  10258  10981  gpu_gpu_kernel clock=call operation=copy" in overhead, overhead
    sized = shown("--node", NODES / "h200x4", "matrix", "host_gpu_copy_engine", "--where", "bytes=1M")[1]
    assert any("bytes=1 MiB" in line for line in sized) and "1048576" not in " ".join(sized), sized
    assert len(shown("--node", NODES / "h200x4", "matrix", "transfer_overhead", "--all")[1]) > 2 * ROWS


def pipes_have_the_width_of_columns():
    """A pager on a narrow terminal exports COLUMNS; what is no number of columns is as if not there."""
    def widest(columns):
        done = subprocess.run([BIN / "berth", "--node", NODES / "mi250x", "topo"], capture_output=True, text=True, env={**PLAIN, "COLUMNS": columns}, check=True)
        return max(len(line) for line in done.stdout.splitlines())

    assert widest("80") <= WIDTH < widest("100") <= 100, (widest("80"), widest("100"))
    for columns in ("", "0", "-80", "80x", "wide"):
        assert widest(columns) == widest("100"), columns
    assert widest("1") == widest("60") and widest("99999999999999999999") == widest("1000") > 100


def plain_terminals():
    """Without UTF-8 nothing but ASCII; with TERM=dumb no escape sequence, and progress in lines."""
    plain = {"TERM": "dumb", "LC_ALL": "C", "LANG": "C", "NO_COLOR": ""}
    for name in ("mi250x", "gh200-quad"):
        for words, _ in [*SCREENS, *GPU_SCREENS, (["bind", "-n", "4", "--pattern", "ring", "--why"], ""), (["matrix", "gpu_gpu_copy_engine"], "")]:
            text = "\n".join(fits("--node", NODES / name, *words, environment=plain))
            assert text.isascii() and "\x1b" not in text, (name, words, text)
    with fake_probe(f"echo '{RUN}'\necho '{{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":1}}'\n") as probes, Daemon("--no-probe", config=f"probe_dir = {probes}\n") as daemon:
        for kind, has_bar in (("dumb", False), ("xterm", True)):
            text = "\n".join(shown("--socket", daemon.socket, "probe", environment={**plain, "TERM": kind})[1])
            assert ("\x1b" in text) == has_bar and text.isascii(), (kind, text)
    colour = shown("--node", NODES / "h200x4", "health", environment={"NO_COLOR": ""})[1]
    assert colour[0].startswith("\x1b[32mhealthy"), colour


def cases_without_an_answer():
    """One plain line each: what is missing, and what to say."""
    node = ("--node", NODES / "h200x4")
    assert fits(*node, "history", "gpu_gpu_copy_engine", "gpu0", "gpu1") == ["gpu_gpu_copy_engine from gpu0 to gpu1: a recorded node has no history"]
    with Daemon("--no-probe") as daemon:
        series = ("--socket", daemon.socket, "history", "memory_latency", "llc0", "numa0")
        assert fits(*series) == ["memory_latency from L3 llc0 to numa0: never measured"], fits(*series)
        assert fits(*series, "--since", "1d") == ["memory_latency from L3 llc0 to numa0: not measured in that time"], fits(*series, "--since", "1d")
    assert shown("fleet") == (64, ["berth: fleet: which nodes? name a folder with what berth record wrote of each", "  (berth fleet --help shows how)"]), shown("fleet")
    assert shown("slurm") == (0, ["berth: slurm: the hook has done nothing: which hook? prolog, epilog, task or", "  health"]), shown("slurm")


def helps():
    names = re.findall(r"^  ([a-z-]+)  +[a-z]", "\n".join(fits("--help")), re.MULTILINE)
    assert len(names) > 20 and {"bind", "exec", "report-time"} <= set(names), names
    # watch prints until it is interrupted (tests/system/watch.py)
    assert set(names) == {words[0] for words, *_ in SCREENS + GPU_SCREENS + REFUSED} | {"watch", "help"}, names
    for name in names:
        lines = fits(name, "--help")
        assert lines == shown("help", name)[1] and f"usage: berth {name}" in "\n".join(lines[:4]), lines
    brief, whole = "\n".join(fits("bind", "--help")), "\n".join(fits("claim", "--help"))
    assert "More of all of these: man berth" in brief and "gpus of each task; default" not in brief, brief
    assert "man berth" not in whole.split("Options of every command")[0] and "seconds, or 90m, 12h, 2d; needed" in whole, whole


if __name__ == "__main__":
    sys.exit(run_tests([helps, a_matrix_is_one_table, every_matrix, pipes_have_the_width_of_columns, plain_terminals, cases_without_an_answer, of_recorded_nodes, refusals, of_four_packages, of_why, of_this_machine]) > 0)
