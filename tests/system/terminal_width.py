"""Tables of the command on a terminal of 80 columns. Prints TAP."""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, Daemon  # noqa: E402
from health import recorded_but  # noqa: E402
from screen import PLAIN, WIDTH, shown  # noqa: E402
from service import Service  # noqa: E402
from tap import run_tests  # noqa: E402

def fits(*words, status=0):
    ended, lines = shown(*words)
    assert ended == status and lines, (words, ended, lines)
    wide = [line for line in lines if len(line) > WIDTH]
    assert not wide, (words, wide)
    return " ".join(" ".join(lines).split())


def help_fits():
    text = fits("--help")
    names = re.findall(r"(?:^|\s)  ([a-z]+)  +[a-z]", "\n".join(shown("--help")[1]))
    assert len(names) > 20 and "bind" in names and "Exit status: 0 done, 64 wrong usage" in text, names
    assert len(shown("--help")[1]) < 40, "a screen of 40 rows has no room for the prompt"
    for name in names:
        assert f"usage: berth {name}" in fits("help", name), name


def answers_fit():
    for name in ("epyc-2s", "mi250x", "h200x4"):
        node = ("--node", NODES / name)
        text = fits(*node, "topo")
        assert name == "epyc-2s" or re.search(r"numa +cpus\b", text), name
        fits(*node, "health", status=0 if name == "h200x4" else 3)
        assert "numa_alloc_onnode(1073741824, 0)" in fits(*node, "alloc", "1G"), name
        assert "An iteration takes " in fits(*node, "bind", "-n", "2", "--pattern", "ring") or name == "epyc-2s"
        assert "round trip between two cores" in fits(*node, "matrix", "--all"), name
        assert len(fits(*node, "matrix").splitlines()) < 32, name
    fits("--node", NODES / "mi250x", "route", "gpu0", "gpu1", "64M")
    route = ("--node", NODES / "gh200-quad", "route", "gpu0", "gpu1", "64M")
    assert "berth probe" not in fits(*route) + fits(*route, "--why"), "a recorded node cannot be measured"


def a_split_has_a_row_each_path():
    """Its first line is its time; ranges of sizes are one sentence; of few bytes no time is shown that only a rate tells."""
    lines = shown("--node", NODES / "h200x4", "route", "numa0", "gpu1", "1G")[1]
    assert re.match(r"4 paths at once: [0-9.]+ ms \(.* to .*\), shares numa0's memory, read$", lines[0]), lines
    assert re.match(r"  [0-9]+ %  copy engine$", lines[1]) and all(re.match(r"  [0-9]+ %  copy engine via gpu[023] in pieces of [0-9]+ MiB$", line) for line in lines[2:5]), lines
    text = " ".join(" ".join(lines).split())
    assert re.search(r"up to [0-9.]+ MiB copy engine, up to [0-9.]+ MiB 2 paths at once, up to [0-9.]+ MiB 3 paths at once; from there on 4 paths at once", text), text
    quad = ("--node", NODES / "gh200-quad", "route", "gpu0", "gpu1")
    assert re.search(r"might take 204 .s: its transfers were not measured, or not together, so it does not lead vs first ", fits(*quad, "64M")), fits(*quad, "64M")
    assert "likewise gpu0 to gpu2, gpu2 to gpu1" in fits(*quad, "64M", "--why") and fits(*quad, "64M", "--why").count("was not measured, or not all of it") == 1
    few = fits(*quad, "8")
    assert few.startswith("copy engine: the time of so few bytes was not measured") and " ns" not in few and "might take" not in few, few


def cores_of_one_l3_are_shown_in_blocks():
    """And what the medians hide: the least and the most of the pairs."""
    lines = shown("--node", NODES / "h200x4", "matrix", "cpu_pingpong")[1]
    assert re.fullmatch(r"  from +0-7 +8-15 +16-23 +24-31 +32-39 +40-47 +48-55 +56-63", lines[4]) and len(lines) < 20, lines
    assert lines[0] == "cpu_pingpong: 367 pairs from 57.3 to 485 ns, median 349 ns", lines


def the_list_has_a_line_each_metric():
    """The first clause of each meaning fits beside the longest name, uncut."""
    every = json.loads(subprocess.run([BIN / "berth", "--json", "--node", NODES / "h200x4", "matrix"], capture_output=True, check=True).stdout)["metrics"]
    longest = max(len(metric["name"]) for metric in every)
    titles = [re.split("[:;,]", metric["about"])[0] for metric in every]
    assert not [title for title in titles if longest + 2 + 5 + 2 + 8 + 2 + len(title) > WIDTH] and len(set(titles)) == len(titles), titles
    lines = shown("--node", NODES / "h200x4", "matrix")[1]
    assert len(lines) == 2 + sum(metric["cells"] > 0 for metric in every) and not [line for line in lines if "..." in line], lines


def equal_memories_are_one_row():
    lines = shown("--node", NODES / "gh200-quad", "alloc", "4G")[1]
    assert [line.split() for line in lines[4:6]] == [["numa1-3", "system", "as", "long"], ["numa0-3", "pinned,", "managed", "as", "long"]], lines


def all_memories_with_why_are_rows_too():
    """Each call once, with N for the number of its memory; a row of one memory has the call itself."""
    node = ("--node", NODES / "mi250x", "alloc", "4G")
    lines = shown(*node, "--by", "gpu0:reads=4G", "--why")[1]
    rows = [line.split(maxsplit=2) for line in lines]
    assert len(lines) <= 40 and "Calls (N: the memory's number)" in lines, lines
    assert ["gpu0-7", "device", "hipMalloc(&p, 4294967296) on gpuN"] in rows and ["gpu0", "managed", "hipMallocManaged(&p, 4294967296), advised to gpu0"] in rows, lines
    assert ["numa0-3", "system", "not predicted"] in rows and ["gpu2-5", "device", "at least 115 ms (nominal)"] in rows, lines
    lines = shown("--node", NODES / "h200x4", "alloc", "4G", "--why")[1]
    assert "Calls" in lines and "  numa0  system   numa_alloc_onnode(4294967296, 0)" in lines, lines
    for name in ("mi250x", "gh200-quad", "h200x4"):
        for words in ([], ["--by", "gpu0:reads=4G"]):
            assert len(shown("--node", NODES / name, "alloc", "4G", *words, "--why")[1]) <= 40, (name, words)


def an_error_is_wrapped_on_a_terminal_alone():
    """Scripts read one line; it names the command to run."""
    words = ["--node", NODES / "mi250x", "bind", "-n", "16"]
    assert fits(*words, status=65).endswith(": berth bind -n 16 --tasks-per-gpu 2"), fits(*words, status=65)
    done = subprocess.run([BIN / "berth", *words], capture_output=True, text=True, env=PLAIN)
    assert done.stderr.count("\n") == 1 and len(done.stderr) > WIDTH, done.stderr
    assert fits(*words, "--tasks-per-gpu", "2", "--pattern", "ring", "--bytes", "64M", "--host-bytes", "1G").startswith("An iteration takes ")
    fits("bind", "-n", "x", "--pattern", "ring", "--some-option-that-is-long-and-unknown-to-the-command-berth", status=64)


def alternatives_follow_the_answer():
    """The other mechanism, only with --why; the first line has what rank order costs."""
    node = ("--node", NODES / "mi250x", "bind", "-n")
    ring = (*node, "4", "--pattern", "ring", "--bytes", "64M")
    lines = shown(*ring, "--why")[1]
    at = lines.index("Alternatives")
    assert "faster than in rank order:   1.79 ms (published)." in " ".join(lines[:2]), lines
    assert re.fullmatch(r"  by kernel an iteration of these gpus might take 895 .s, but only by nominal +rates: better evidence goes first", " ".join(lines[at + 1:at + 3])), lines
    assert " ".join(lines).count("by kernel an iteration") == 1 and at < lines.index("Decided by"), lines
    assert "Alternatives" not in shown(*ring)[1]
    assert "Alternatives" not in shown(*node, "4", "--why")[1]


def a_request_without_traffic_is_told_how_to_name_it():
    node = ("--node", NODES / "mi250x", "bind", "-n", "4")
    assert re.match("placed by locality: without traffic of these ranks no time is predicted task gpus .* for a time add --pattern, --flow or --host-bytes to start: berth exec in each task, or srun with the options of --format slurm --why shows", fits(*node)), fits(*node)
    assert "to start: " not in fits(*node, "--why")
    assert fits(*node, "--why").count("placed by locality") == 1, "the first line is no note, too"
    assert "for a time add" not in fits(*node, "--pattern", "ring")


def an_unmeasured_node_is_told_how_to_measure():
    """Live alone: nothing can be measured of a recorded one."""
    with Daemon("--no-probe") as daemon:
        assert "never measured; berth probe measures" in fits("--socket", daemon.socket, "health", status=3)
    assert "berth probe" not in fits("--node", NODES / "mi250x", "health", status=3)


def a_matrix_that_measuring_cannot_fill_says_so():
    with Daemon("--no-probe") as daemon:
        assert fits("--socket", daemon.socket, "matrix", "gpu_gpu_copy_engine").endswith(" this node has no gpu")
        assert fits("--socket", daemon.socket, "matrix", "memory_latency").endswith(" berth probe measures")
    assert fits("--node", NODES / "gh200-quad", "matrix", "gpu_gpu_copy_engine").endswith(" a recorded node measures nothing")


def what_curves_have_in_common_stands_once():
    lines = shown("--node", NODES / "h200x4", "curves", "gpu_gpu_copy_engine")[1]
    assert lines[1:4] == ["direction=write sdma=on; 9 sizes of 4 KiB to 256 MiB", "", "from  to    t0 call  t0 queue      Wmax       B80  off by  time"], lines
    assert lines[4:6] == ["gpu0  gpu1  7.60 \u00b5s   2.17 \u00b5s  391 GB/s  11.3 MiB   1.4 %", "    2.31 \u00b5s, 2.50 \u00b5s at 16 KiB, 2.51 \u00b5s at 64 KiB, then 391 GB/s"], lines


def a_folder_without_history_fits():
    assert "which berth health judges" in fits("--node", NODES / "mi250x", "history")


def help_of_make_fits():
    done = subprocess.run(["make", "-s", "help"], cwd=NODES.parent.parent, capture_output=True, text=True, check=True)
    assert "  make check-all " in done.stdout and not [line for line in done.stdout.splitlines() if len(line) > WIDTH], done.stdout


def findings_fit():
    """The verdict, which is one line for scripts, has as many as it needs on a terminal."""
    def slow(record):
        return 0.5 if record.get("metric") == "host_gpu_copy_engine" and "gpu2" in (record["from"], record["to"]) else 1

    with recorded_but("h200x4", {"gpu2": {"pcie_width": 8}}, slow) as node:
        ended, lines = shown("--node", node, "health")
        assert ended == 1 and lines[0].startswith("degraded: gpu2: ") and any("direction=both" in line for line in lines), lines
        assert not [line for line in lines if len(line) > WIDTH], lines
    ended, lines = shown("--node", NODES / "garbage-records", "health")
    assert ended == 1 and lines[0].startswith("degraded: 2 findings") and not [line for line in lines if len(line) > WIDTH], lines
    long = "degraded: 2 findings, the worst: gpu0:" + 16 * " word"
    reply = {"verdict": "degraded", "reason": long, "drain": False, "findings": [], "unconfirmed": [], "last_probe_at_s": None, "origin": "live"}
    with Service(lambda _: [json.dumps({"parameters": reply}).encode() + b"\0"]) as service:
        piped = subprocess.run([BIN / "berth", "--socket", service.path, "health"], capture_output=True, text=True, check=False, env=PLAIN)
        assert piped.stdout.splitlines()[0] == long, piped
        assert long in fits("--socket", service.path, "health", status=1)


def actions_fit_and_no_command_is_broken():
    table = (NODES.parent.parent / "schema/findings.def").read_text()
    lines = [line.replace("BDF", "0000:00:08.0") for text in re.findall(r'"([^"]*)"', table) for line in text.split("\\n")]
    commands = [line for line in lines if re.match(r"(nvidia-smi|rocm-smi|lspci|dmesg|journalctl) ", line)]
    assert len(commands) > 20
    found = {"severity": "warning", "place": "gpu2", "code": "throttled", "text": "slow", "value": 1.0, "expected": 2.0, "unit": "bytes_per_s", "since_s": None, "explains": 0, "slow": [], "cell": None,
             "action": 30 * "look at it, ", "commands": commands}
    reply = {"verdict": "degraded", "reason": "degraded: slow", "drain": False, "findings": [found], "unconfirmed": [], "last_probe_at_s": None, "origin": "live"}
    with Service(lambda _: [json.dumps({"parameters": reply}).encode() + b"\0"]) as service:
        ended, lines = shown("--socket", service.path, "health")
    assert ended == 1 and max(map(len, lines)) <= WIDTH and set(commands) <= {line.strip() for line in lines}, lines


def a_history_fits():
    """With the longest values, a zone of five letters, and conditions of any length."""
    points = [{"measured_at_s": 1790000000 + 100 * i, "value": value, "low": 0.9 * value, "high": 1.1 * value, "values": 0, "conditions": {"driver": f"{i} " + 30 * "word "}}
              for i, value in enumerate((985e6, 1.05e9, 20e9))]
    baseline = {"unit": "bytes_per_s", "better": "higher", "baseline": {"expected": 20e9, "worse_beyond": 18e9, "better_beyond": 22e9, "begun_at_s": 1, "values": 9}}
    with Service(lambda message: [json.dumps({"parameters": baseline if message["method"].endswith("GetBaseline") else {"points": points}}).encode() + b"\0"]) as service:
        text = fits("--socket", service.path, "history", "memory_bandwidth", "llc0", "numa0")
        assert "886 MB/s to 1.08 GB/s" in text and "18 to 22 GB/s" in text and text.count("worse") == 2 and "driver was 0 word" in text, text


def tuning_fits():
    """With the longest numbers and names, why, and a reason of any length."""
    number = {"value": 1048576, "why_not": None, "by": "kernel", "from": "gpu63", "to": "gpu62", "bytes_per_s": 1.336e12, "low": 1.335e12, "high": 1.337e12, "next_bytes_per_s": 1.334e12,
              "measured_at_s": 1790000000}
    none = {**dict.fromkeys(number), "why_not": "the full profile measures it, of a gpu with the host's nearest memory and with its peers"}
    one = {"place": "gpu63", "to": "gpu62", "operation": "write", "grid": number, "block": {**number, "value": 1024}, "unroll": number, "chunk_bytes": {**number, "value": 999 << 20}, "streams": none,
           "threshold_bytes": {**number, "value": 999 << 20}, "certain_below_bytes": 998 << 20, "below": "copy_engine", "above": "kernel",
           "conditions": {"fingerprint": "f" * 32, "driver": "580.159.04", "power_cap_w": "700", "clock_max_mhz": "1980"}, "stale": "driver 580.159.05 has replaced 580.159.04 since it was tuned, " + 30 * "word "}
    reply = {"tunings": [one, {**one, "operation": "copy", "below": "kernel", "threshold_bytes": none}], "basis": {"snapshot": "s", "claims": "c", "origin": "live"}}
    with Service(lambda _: [json.dumps({"parameters": reply}).encode() + b"\0"]) as service:
        text = fits("--socket", service.path, "tuning", "gpu63", "gpu62", "--why")
        assert text.startswith("gpu63 to gpu62: copy by the copy engine, from 999 MiB on by a kernel "), text
        assert text.count("stale: ") == 1 and "1048576 1.34 TB/s 999 MiB -" in text and "no streams: the full profile" in text, text
        assert "write, timed of gpu63 in gpu62: tuned 2026-09-21" in text and "the copy engine for certain up to 998 MiB" in text, text
    # a node where no launch shape is tuned has no table of nothing
    assert shown("--node", NODES / "h200x4", "tuning")[1] == ["no launch shape is tuned for a gpu's own memory", "for copies between two: berth tuning gpu0 gpu1", "", \
                                                                  "for a recorded node, not this machine"]
    assert shown("--node", NODES / "mi250x", "tuning")[1][0] == "no launch shape is tuned for a gpu's own memory"


def kernel_fits():
    for words in (["bs5", "--dofs", "1e12"], ["--reads", "1000T", "--writes", "3", "--flops", "1e18"], ["bs6", "--dofs", "512"]):
        text = fits("--node", NODES / "h200x4", "kernel", "gpu3", *words)
        assert re.search(r"^gpu3: .* for .* by bs[1-7] \(", text, re.M) and "B80" in text, text


def findings_of_one_time_are_one_event():
    """The worst of them, and how many more; a fact, and what came at another time, stands alone."""
    def found(place, value, since_s, cleared_s=None):
        return {"severity": "warning", "place": place, "code": "slower-than-peers", "text": f"x is {value}", "value": value, "expected": 100.0, "unit": "bytes_per_s", "since_s": since_s,
                "cleared_s": cleared_s, "critical_since_s": None, "accepted": None, "series": 1, "slow": []}

    late = 1790000000
    slow = [{"series": f"gpu_gpu_copy_engine gpu2 gpu{i} bytes=1048576", "value": 20.0 + i, "expected": 100.0, "unit": "bytes_per_s"} for i in range(16)]
    all_of = [found("gpu4", 50.0, late), {**found("gpu2", 20.0, late), "series": 20, "slow": slow}, {**found("gpu7", 1.0, late), "value": None, "series": 0, "text": "a fact"}, found("gpu2", 60.0, late), found("numa0", 70.0, late - 500, late - 100)]
    with Service(lambda _: [json.dumps({"parameters": {"findings": all_of}}).encode() + b"\0"]) as service:
        lines = shown("--socket", service.path, "history")[1]
        text = " ".join(" ".join(lines).split())
        assert lines[0].startswith("4 findings now, since 2026-09-21 ") and lines[0].endswith("; 1 past"), lines
        assert text.count("warning") == 3 and "gpu2: x is 20.0 [slower-than-peers]; with 21 more values, of gpu4, gpu2 (--all)" in text and "gpu7: a fact [" in text, text
        assert "cleared after 6 min: numa0: x is 70.0" in text, text
        every = " ".join(" ".join(shown("--socket", service.path, "history", "--all")[1]).split())
        assert every.count("warning") == 5 and "more value" not in every, every
        assert "gpu2 gpu1 bytes=1 MiB: 21 B/s, expected 100 B/s" in every and every.count("and 4 more") == 1, every


def what_a_node_has_none_of_is_no_slip_of_the_finger():
    for words in (["route", "gpu0", "gpu1", "1M"], ["health", "gpu0"], ["matrix", "gpu_gpu_kernel", "--from", "gpu0"]):
        done = subprocess.run([BIN / "berth", "--node", NODES / "epyc-2s", *words], capture_output=True, text=True, env=PLAIN)
        assert done.returncode == 65 and done.stdout == "" and done.stderr.count("\n") == 1, (words, done)
        assert "this node has no gpu, and so no place gpu0" in done.stderr and "did you mean" not in done.stderr, done.stderr
    done = subprocess.run([BIN / "berth", "--json", "--node", NODES / "epyc-2s", "health", "gpu0"], capture_output=True, text=True, env=PLAIN)
    assert done.returncode == 65 and json.loads(done.stdout)["parameters"]["place"] == "gpu0", done


def measurements_fit():
    """Rows are wrapped at their columns, and no word of them is lost."""
    for name in ("mi250x", "h200x4"):
        node = ("--node", NODES / name)
        metrics = json.loads(subprocess.run([BIN / "berth", "--json", *node, "matrix"], capture_output=True, check=True).stdout)["metrics"]
        for metric in (metric["name"] for metric in metrics if metric["cells"] > 0):
            assert metric in fits(*node, "matrix", metric), (name, metric)
            fits(*node, "matrix", metric, "--size", "all")
        for words in [["contention"]] + [["curves", metric] for metric in ("gpu_gpu_copy_engine", "host_gpu_copy_engine", "gpu_gpu_kernel", "gpu_stream")]:
            narrow = fits(*node, *words)
            wide = subprocess.run([BIN / "berth", *node, *words], capture_output=True, text=True, env=PLAIN, check=True).stdout
            assert sorted(narrow.split()) == sorted(wide.split()), (name, words, narrow)


def a_screen_has_the_whole_answer():
    """In 40 rows, also on the nodes with most to say; the answer comes before evidence and notes."""
    for name, gpus in (("mi250x", 8), ("gh200-quad", 4), ("h200x4", 4)):
        node = ("--node", NODES / name)
        ring = ["bind", "-n", str(gpus), "--pattern", "ring", "--bytes", "64M"]
        for words in ["topo"], ["matrix"], ["matrix", "gpu_gpu_copy_engine"], ["matrix", "memory_bandwidth"], ["matrix", "memory_latency"], ["matrix", "cpu_pingpong"], \
                ["contention"], ["curves", "gpu_gpu_copy_engine"], ring, ["alloc", "4G"], ["alloc", "4G", "--by", "gpu0:reads=4G"], ["route", "gpu0", "gpu1", "64M"], \
                ["health"], ["status"]:
            ended, lines = shown(*node, *words)
            assert ended in (0, 3) and len(lines) <= 40, (name, words, ended, len(lines))
        assert re.match(r"(gpu0|numa4), [a-z]+ memory: (at least )?[0-9]", shown(*node, "alloc", "4G", "--by", "gpu0:reads=4G")[1][0]), name
        assert shown(*node, *ring)[1][0].startswith("An iteration takes "), name
        assert re.match(r"[0-9]+ of [0-9]+ metrics have values; berth matrix METRIC prints one", shown(*node, "matrix")[1][0]), name
        assert re.match(r"memory_bandwidth: .*[0-9] [GT]B/s", shown(*node, "matrix", "memory_bandwidth")[1][0]), name
        assert re.match(r"nothing was measured|[0-9]+ of [0-9]+ runs of concurrent transfers are explained by shared limits$", shown(*node, "contention")[1][0]), name
        assert re.match(r"no curves: |gpu_gpu_copy_engine: all 12 alike, 391 to 398 GB/s; 80 % from 12.0 MiB on$", shown(*node, "curves", "gpu_gpu_copy_engine")[1][0]), name
        assert re.match(r"(copy engine|kernel): ", shown(*node, "route", "gpu0", "gpu1", "64M")[1][0]), name
        assert not {"Evidence", "Note", "Decided by"} & set(shown(*node, *ring)[1]) and {"Evidence", "Decided by"} <= {line.split(",")[0] for line in shown(*node, *ring, "--why")[1]}, name


if __name__ == "__main__":
    sys.exit(run_tests([help_fits, alternatives_follow_the_answer, a_request_without_traffic_is_told_how_to_name_it, an_unmeasured_node_is_told_how_to_measure, a_folder_without_history_fits, a_matrix_that_measuring_cannot_fill_says_so, what_curves_have_in_common_stands_once, help_of_make_fits, answers_fit, a_split_has_a_row_each_path, cores_of_one_l3_are_shown_in_blocks, the_list_has_a_line_each_metric, equal_memories_are_one_row, all_memories_with_why_are_rows_too, an_error_is_wrapped_on_a_terminal_alone, findings_fit, actions_fit_and_no_command_is_broken, a_history_fits, tuning_fits, kernel_fits, measurements_fit, a_screen_has_the_whole_answer, findings_of_one_time_are_one_event, what_a_node_has_none_of_is_no_slip_of_the_finger]) > 0)
