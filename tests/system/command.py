"""The berth command as its users meet it: help, exit statuses, node folders, streams, and daemons that lie. Prints TAP."""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import Daemon  # noqa: E402
from service import Service  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("BIN", HERE.parent.parent / "build/bin")).resolve()
NODE = HERE.parent / "nodes/mi250x"
BARE = HERE.parent / "wire/node"
BASIS = {"snapshot": "s-1", "claims": "0", "origin": "live"}


def berth(*arguments, socket_path="/nonexistent/berth.sock", **environment):
    """The command's exit status, standard output and standard error."""
    clean = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "BERTH_SOCKET": socket_path, **environment}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            clean[name] = os.environ[name]
    done = subprocess.run([BIN / "berth", *map(str, arguments)], env=clean, capture_output=True, text=True, timeout=60)
    assert done.stderr.count("\n") <= 1 or done.returncode == 0, done.stderr
    return done.returncode, done.stdout, done.stderr


def says(parameters, **flags):
    return json.dumps({"parameters": parameters, **flags}).encode() + b"\0"


def fails(error, **parameters):
    return json.dumps({"error": error, "parameters": parameters}).encode() + b"\0"


def help_comes_from_the_table():
    status, out, _ = berth("--help")
    assert status == 0
    commands = [line.split()[0] for line in out.split("Commands\n")[1].split("\n\n")[0].splitlines()]
    assert {"topo", "matrix", "bind", "alloc", "route", "health", "probe", "cancel", "record", "watch", "status", "claim", "release", "claims"} <= set(commands), commands
    for command in commands:
        one, two = berth(command, "--help"), berth("help", command)
        assert one == two and one[0] == 0 and one[1].startswith(f"berth {command}: "), one
        assert all(len(line) <= 100 for line in one[1].splitlines()), one[1]
    assert berth("--version")[1].startswith("berth ")


def wrong_usage_is_64_and_one_line():
    for arguments, words in [
        ([], "no command given"), (["topology"], "did you mean topo?"), (["export", "dot", "-o", "x.svg", "--node", NODE], "topo -o x.svg draws"), (["tpoo"], "topo?"), (["topo", "--sokcet", "x"], "--socket?"), (["topo", "-x"], "no option -x"),
        (["topo", "extra"], "does not take extra; usage: berth topo [options] ("), (["--socket"], "needs a value"), (["topo", "--json=1"], "takes no value"),
        (["bind"], "-n TASKS"), (["bind", "-n", "0"], "from 1"), (["bind", "-n", "2", "--format", "slrm"], "rankfile, numactl, omp_places, cray_mpich; not \"slrm\""), (["alloc"], "how much"),
        (["alloc", "4X"], "4X"), (["alloc", "1G", "--by", "gpu0"], "PLACE:reads"), (["alloc", "1G", "--by", "gpu0:reads=0"], "neither reads nor writes"), (["alloc", "1G", "--by", "gpu0:raeds=1"], "raeds=1"),
        (["route", "gpu0", "gpu1"], "how much"), (["route", "gpu0", "gpu1", "0"], "not 0"), (["route", "gpu0", "gpu1", "1", "--concurrent", "gpu1,1"], "FROM:TO:SIZE"), (["route", "gpu0", "gpu1", "1", "2"], "does not take 2; usage: berth route [options] FROM TO SIZE ("),
        (["claim", "gpu0", "--ttl", "60", "--node", NODE], "would end with this command"), (["matrix", "--size", "1"], "needs a metric"), (["matrix", "m", "--where", "x"], "AXIS=VALUE"), (["status", "--timeout", "1"], "--wait"),
        (["record"], "where to"), (["topo", "--socket", "a", "--node", "b"], "exclude"), (["bind", "-n", "1", "--gpus", "3-1", "--node", NODE], "3-1"),
        (["alloc", "99999999T"], "99999999T"), (["help", "nothing"], "nothing"),
        ([""], "word 1 of the command line is empty"), (["alloc", "", "--node", NODE], "word 2 of the command line is empty"), (["route", "gpu0", "", "1G", "--node", NODE], "word 3 of the command line is empty"),
        (["exec", "--", ""], "word 3 of the command line is empty"), (["status", "--socket="], "--socket takes a path, not \"\""), (["report", "-o", "", "--node", NODE], "--output takes a file, not \"\""), (["report", "-o", "r.svg", "--node", NODE], "a page, FILE.html; berth topo -o r.svg draws"),
        (["topo", "--node", ""], "--node takes a folder, not \"\""), (["matrix", "memory_latency", "--from", "", "--node", NODE], "--from takes names between commas, not \"\""),
        (["bind", "-n", "2", "--task", "1", "--node", NODE], "--task goes with --format env"),
        (["bind", "-n", "2", "--pattern", "zz"], "--pattern takes none, pairs, ring, grid2d, grid3d, alltoall, allreduce; not \"zz\""),
        (["bind", "-n", "2", "--order="], "free, rank; not \"\""), (["bind", "-n", "2", "--visible", "ow"], "own, all"),
        (["bind", "-n", "2", "--mechanism", "kernels"], "best, copy_engine, kernel"), (["alloc", "1G", "--kind", "system,zz"], "not \"zz\""),
        (["bind", "-n", "2", "--bytes", "64M"], "--pattern"), (["bind", "-n", "2", "--bytes", "64M", "--pattern", "none"], "--pattern"), (["bind", "-n", "2", "--gpus=", "--node", NODE], "not \"\""),
        (["bind", "-n", "2", "--gpus", "", "--node", NODE], "--gpus takes a list such as 0-3,5, gpu1 or PCI addresses, not \"\": this node has gpu0 to gpu7"),
        (["bind", "-n", "2", "--gpus", ",", "--node", NODE], "not \",\""), (["alloc", "1G", "--gpus=", "--node", NODE], "not \"\""), (["bind", "-n", "2", "--world", "0"], "from 1"),
        *((["bind", "-n", "2", "--flow", flow], f"--flow takes FROM:TO:SIZE, such as 0:1:64M, not {flow}") for flow in ("", "0:1", "0:1:", "0:1:x", "a:1:1", "0:-1:1", "0:1:1:1", "0::1", "9999999999:1:1")),
        *((["bind", "-n", "2", "--ranks", ranks], f"--ranks takes a list such as 0-3,8, not \"{ranks}\"") for ranks in ("", "x", "3-1", "1,", "-1", "0-9999999", "9999999999")),
        (["bind", "-n", "2", "--flow", "0:0:1M", "--node", NODE], "a flow from rank 0 to itself: a rank sends nothing to itself"),
        (["bind", "-n", "2", "--flow", "0:5:1M", "--node", NODE], "a flow from rank 0 to rank 5; there are ranks 0 to 1"), (["bind", "-n", "2", "--ranks", "4", "--world", "8", "--node", NODE], "1 rank for 2 tasks"),
        (["bind", "-n", "2", "--ranks", "4-5", "--pattern", "ring", "--bytes", "1M", "--node", NODE], "world"),
        (["alloc", "1G", "--kind", "pinned,"], "system, pinned, managed, device; not \"\""),
        *((command + ["--cpus", cpus], "berth topo shows which there are") for command in (["bind", "-n", "2"], ["alloc", "1G"])
          for cpus in ("9-1", "", "1,", ",1", "1,,2", "1-2-3", "-", "1-", " 1", "0x1", "4096", "99999999999999999999")), (["\033[31m"], "?[31m"), (["topo\udcff"], "not UTF-8"),
        *((command, "less than 4 EiB") for command in (["alloc", "9223372036854775807"], ["route", "gpu0", "gpu1", "5000000T"], ["bind", "-n", "2", "--host-bytes", "1e30"])),
        *((command, f"not {given}: {unit} is no unit; B, K, M, G and T are (powers of 1024), and KB, MB, GB and TB (powers of 1000)")
          for command, given, unit in ((["alloc", "4G", "--by", "gpu0:reads=2E"], "reads=2E", "E"), (["alloc", "4X"], "4X", "X"), (["route", "gpu0", "gpu1", "1PiB"], "1PiB", "PiB"),
                                       (["bind", "-n", "2", "--host-bytes", "1e30"], "1e30", "e30"), (["matrix", "memory_latency", "--size", "2Q"], "2Q", "Q"))),
        *((command + ["\udcff"], f"word {len(command) + 1} of the command line is not UTF-8") for command in (["bind", "-n", "2", "--gpus"], ["bind", "-n", "2", "--key"], ["alloc", "1G", "--by"], ["route"])),
    ]:
        status, out, err = berth(*arguments)
        assert status == 64 and out == "" and err.count("\n") == 1 and err.startswith("berth: ") and words in err, (arguments, status, err)


def choices_are_those_of_the_schema():
    schema = (HERE.parent.parent / "schema/io.berth.Placement.varlink").read_text()
    for command, option, parameter in [("bind", "pattern", "pattern"), ("bind", "order", "order"), ("bind", "visible", "visible"),
                                       ("bind", "mechanism", "mechanism"), ("alloc", "kind", "kinds")]:
        choices = re.search(rf"^  {parameter}: \?(?:\[\])?\((.*)\)", schema, re.M)[1]
        size = ["1G"] if command == "alloc" else ["-n", "2"]
        assert berth(command, *size, "--" + option, "zz")[2].startswith(f"berth: {command}: --{option} takes {choices}; not"), option
        assert choices in " ".join(berth(command, "--help")[1].split()), option
    kinds = berth("--node", NODE, "alloc", "1G", "--kind", "system,device")
    assert kinds[0] == 0 and "system" in kinds[1] and "pinned" not in kinds[1], kinds


def an_unproven_plan_names_the_bound():
    words = ("--node", NODE, "bind", "-n", "14", "--tasks-per-gpu", "2", "--pattern", "ring", "--bytes", "64M", "--host-bytes", "1G")
    reply = json.loads(berth("--json", *words)[1])
    assert not reply["proven_optimal"] and reply["gap"] > 0.1, reply
    bound = re.search(r"\nNot proven to be the best; no assignment takes less than ([0-9.]+) ms\.\n", berth(*words)[1])
    assert abs(float(bound[1]) * 1e6 * (1 + reply["gap"]) / reply["predicted"]["time_ns"] - 1) < 0.01, (bound[1], reply["gap"])


def a_day_of_the_history_tells_its_values():
    points = [{"measured_at_s": 86400 * day + 3600, "value": 7e10, "low": 6e10, "high": 8e10, "values": 24, "conditions": {}} for day in (20000, 20001)]
    baseline = {"unit": "bytes_per_s", "better": "higher", "baseline": None}
    with Service(lambda call: [says(baseline if call["method"].endswith("GetBaseline") else {"points": points})]) as service:
        status, out, err = berth("history", "memory_bandwidth", "llc0", "numa0", socket_path=service.path)
    assert status == 0 and "  2024-10-04: 24 values         70 GB/s  60 to 80 GB/s" in out and "UTC" not in out, (out, err)


def no_daemon_is_69_and_says_what_to_do():
    status, _, err = berth("topo", socket_path="/nonexistent/s")
    assert (status, err) == (69, "berth: no daemon at /nonexistent/s (start berthd, or set BERTH_SOCKET or --socket)\n"), err
    assert berth("curves", "cpu_copy", socket_path="/nonexistent/s")[1:] == ("", err), "one line where a command asks twice"
    assert berth("topo", "--socket", "/nonexistent/t")[2].startswith("berth: no daemon at /nonexistent/t ")
    assert berth("status", "--wait", "--timeout", "0")[0] == 75
    assert berth("topo", "--socket", "/" + "a" * 200)[0] == 64


def a_recorded_node_is_drawn_and_planned_for():
    status, out, err = berth("topo", "--node", NODE)
    assert status == 0 and err == "" and "gpu7" in out and "xgmi \u00d74" in out and "\u2514\u2500" in out, (out, err)
    status, ascii_out, _ = berth("topo", "--node", NODE, LANG="C", LC_ALL="C")
    assert status == 0 and ascii_out.isascii()
    links, distances = (berth("--node", NODE, "topo", "--show", part)[1] for part in ("links", "distances"))
    assert "Links" in links and "numa0" in distances and "Links" not in distances and "\u251c\u2500" not in links + distances, links + distances
    assert berth("--node", NODE, "topo", "--show", "trees")[0] == 64
    with Daemon() as daemon:
        drawn = berth("--socket", daemon.socket, "topo")[1]
        assert re.search(r"numa0 +[0-9.]+( [KMGT]iB)? of [0-9.]+ [KMGT]iB free, ", drawn), drawn
    places = json.loads(berth("--json", "--node", NODE, "topo")[1])["places"]
    assert sum(place["kind"] == "gpu" for place in places) == 8
    cpus = ",".join(f"{first + 1}-{first + 7}" for first in range(0, 64, 8))
    status, out, err = berth("--node", NODE, "bind", "-n", 8, "-c", 7, "--order", "rank", "--cpus", cpus, "--format", "slurm")
    assert status == 0 and ("--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,"
                            "0xfe00000000,0xfe0000000000") in out, (out, err)
    refused = berth("--node", NODE, "bind", "-n", 4, "--gpus", "0-3", "--cpus", "0-63", "--format", "slurm")
    assert refused == (65, "", "berth: no options for srun: its masks count the whole node, of which only a part is allowed\n"), refused
    status, out, err = berth("--node", NODE, "bind", "-n", 2, "--gpus", "0-1", "--format", "env", "--task", 1)
    assert status == 0 and "export ROCR_VISIBLE_DEVICES='" in out and "unset HIP_VISIBLE_DEVICES\n" in out, (out, err)
    assert berth("--node", NODE, "bind", "-n", 2, "--format", "env")[0] == 64
    status, out, _ = berth("--node", NODE, "bind", "-n", 2, "--key", "mine", "--why")
    assert status == 0 and "the plan stands until nobody has asked for it for 10 minutes" in " ".join(out.split()) and "no claim has the plan's key" in " ".join(out.split()), out
    status, out, _ = berth("--node", NODE, "bind", "-n", 4, "--pattern", "ring", "--bytes", "100MB", "--mechanism", "kernel", "--why")
    assert status == 0 and "ms (nominal); in rank order: at least 2" in " ".join(out.split()) and "Proven of lower bounds" in out and "Decided by" in out, out
    assert {word for word in out.split() if word.startswith("gpu")} >= {"gpu0", "gpu1", "gpu6", "gpu7"}, out
    assert "in rank order the last transfer to end is gpu1 to gpu2 by kernel: 95.4 MiB in 2.67 ms, 2.67 ms alone" in " ".join(out.split()), out
    assert "no time is predicted" in berth("--node", NODE, "bind", "-n", 4, "--cpus", "0-63")[1]
    for asked, modules in [(("-n", 2, "--host-bytes", "1G"), {0, 1, 2, 3}), (("-n", 4, "--host-bytes", "1G"), {0, 1, 2, 3}), (("-n", 2, "--pattern", "pairs", "--bytes", "1G"), {0}),
                           (("-n", 2, "--pattern", "pairs", "--bytes", "1G", "--mechanism", "kernel", "--gpus", "1,2,6-7"), {3}), (("-n", 3, "--host-bytes", "1G", "--gpus", "1-6"), {0, 1, 2, 3})]:
        answer = json.loads(berth("--node", NODE, "--json", "bind", *asked)[1])
        chosen = [int(gpu[3:]) // 2 for task in answer["tasks"] for gpu in task["gpus"]]
        assert answer["proven_optimal"] and set(chosen) <= modules and (len(modules) == 1 or len(set(chosen)) == len(chosen)), (asked, chosen)
        assert answer["predicted"]["time_ns"] <= answer["baseline"]["time_ns"], asked
    status, out, err = berth("--node", BARE, "bind", "-n", 1, "--host-bytes", "64M")
    assert json.loads(berth("--node", BARE, "--json", "bind", "-n", 1, "--host-bytes", "64M")[1])["proven_optimal"], "there is nothing to choose"
    assert status == 0 and "no time is predicted" in " ".join(out.split()) and "Proven" not in out and "roven:" in berth("--node", NODE, "bind", "-n", 2, "--host-bytes", "1G")[1], (out, err)
    status, out, err = berth("--node", NODE, "bind", "-n", 9, "--tasks-per-gpu", 2, "--host-bytes", "1M", "--json")
    assert status == 0 and {gpu for task in json.loads(out)["tasks"] for gpu in task["gpus"]} == {f"gpu{i}" for i in range(8)}, (out, err)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "flows"
        file.write_text("# a step\n0:1:64M # there\n\n\t1:0:64M\r\n2:0:1024")
        flows = berth("--node", NODE, "--json", "bind", "-n", 3, "--flows", file)
        assert flows[0] == 0 and flows == berth("--node", NODE, "--json", "bind", "-n", 3, *(word for flow in ("1:0:64M", "2:0:1K", "0:1:64M") for word in ("--flow", flow))), flows
        assert {task["gpus"][0] for task in json.loads(flows[1])["tasks"][:2]} == {"gpu0", "gpu1"}, flows
        file.write_text("0:1:64M\n0 1 64M\n")
        status, out, err = berth("--node", NODE, "bind", "-n", 3, "--flows", file)
        assert status == 65 and out == "" and err.count("\n") == 1 and "line 2: a flow is FROM:TO:SIZE, such as 0:1:64M, not 0 1 64M" in err, (status, err)
        file.write_text("0:1:64M" + " " * 300 + "\n")
        assert berth("--node", NODE, "bind", "-n", 3, "--flows", file)[0] == 65
        assert "No such file" in berth("--node", NODE, "bind", "-n", 3, "--flows", folder + "/none")[2]
    status, out, _ = berth("--node", NODE, "bind", "-n", 2, "--ranks", "4-5", "--world", 8, "--pattern", "ring", "--bytes", "64M", "--why")
    assert status == 0 and "by nic" in out and "limited by the port of " in out and "to the host, in" in out, out
    quad = HERE.parent / "nodes/gh200-quad"
    assert berth("--node", quad, "bind", "-n", 4, "--format", "env", "-t", 2)[:2] == (0, "export CUDA_VISIBLE_DEVICES='2'\nexport CUDA_DEVICE_ORDER='PCI_BUS_ID'\n")
    status, out, _ = berth("--node", quad, "bind", "-n", 1, "--gpus", 2, "--format", "env")
    assert status == 0 and all(line.startswith("# ") for line in out.splitlines()) and "not set for tasks that see gpu2" in out, out
    assert berth("--node", quad, "bind", "-n", 1, "-g", 0, "--format", "env")[1].startswith("# task 0 has no gpus")
    out = berth("--node", NODE, "bind", "-n", 4, "--pattern", "ring", "--bytes", "64M", "--format", "env", "-t", 0)[1]
    assert "export HSA_ENABLE_PEER_SDMA='1'\n" in out, out  # copies by engine were published
    status, out, err = berth("--node", NODE, "bind", "-n", 4, "--pattern", "ring", "--bytes", "2000000T")
    assert status == 64 and "1 EiB" in err, (status, err)
    assert berth("--node", NODE, "alloc", "1G")[0] == 0
    out = " ".join(berth("--node", NODE, "route", "gpu0", "gpu1", "1G", "--why")[1].split())
    assert out.startswith("copy engine: 21.5 ms (published)") and "0.33 × at least 7.16 ms (nominal) kernel" in out and "by kernel: it counts with the stated rate of the links and the efficiency of such" in out and "worth measuring" not in out, out
    status, out, _ = berth("--node", NODE, "route", "gpu0", "gpu1", "1G", "--overlap", "--why")
    assert status == 0 and "21.5 ms" in out and "50 GB/s, published" in out and "HSA_ENABLE_PEER_SDMA=1 (the default)" in out and "copy engine via gpu" in out and "from published facts" in out, out
    for gpus in ("1-7", "0-7"):
        status, out, _ = berth("--node", NODE, "route", "gpu6", "gpu3", "1G", "--overlap", "--gpus", gpus)
        assert status == 0 and "9.77 ms" in out and "3 paths at once: copy engine 34 %, via " in out and out.count(" 33 %") == 2 and max(map(len, out.splitlines())) <= 100, out
    for option in (["--json"], []):
        status, out, _ = berth("--node", HERE.parent / "nodes/mi300a", *option, "route", "gpu0", "gpu1", "1G")
        if option:
            lead = [(len(o["segments"]), o["may_lead"]) for o in json.loads(out)["options"]]
            assert (3, False) in lead and lead[0] == (1, True) and lead.count((1, True)) == 2, lead
        else:
            assert "In a program that runs already hipMemcpyPeerAsync on a stream of gpu0 with HSA_ENABLE_PEER_SDMA=1" in " ".join(out.split()), out
    commas, colons = (berth("--node", NODE, "route", "gpu0", "gpu1", "1G", "--concurrent", text) for text in ("gpu2,gpu3,1G", "gpu2:gpu3:1G"))
    assert commas == colons and colons[0] == 0, (commas, colons)
    four = [word for i in (1, 2, 3) for word in ("--concurrent", f"gpu{i},numa0,1G")]
    status, out, _ = berth("--node", HERE.parent / "nodes/h200x4-hand", "route", "gpu0", "numa0", "1G", *four)
    assert status == 0 and "26.1 ms" in out and "shares numa0's memory, write" in out, out
    out = " ".join(berth("--node", HERE.parent / "nodes/h200x4", "route", "numa0", "gpu0", "256M")[1].split())
    assert " vs first predicted path " in out and " up to " in out and "; from there on 4 paths at once" in out and "way" not in out.split(), out
    status, out, err = berth("--node", NODE, "route", "gpu0", "gpu9", "1G")
    assert status == 65 and "gpu9" in err, (out, err)
    assert berth("--node", NODE, "route", "gpu0", "core1", "1G")[0] == 64
    assert berth("--node", NODE, "bind", "-n", 3000)[0] == 65
    assert berth("--node", NODE, "matrix", "no_such")[0] == 65
    h200x2 = HERE.parent / "nodes/h200x2"
    status, out, _ = berth("--node", h200x2, "matrix", "gpu_gpu_kernel")
    assert status == 0 and out.count("\n  gpu0 ") == out.count("bytes=large ") == 1 and "--where direction=both, --where operation=" in out, out
    status, out, _ = berth("--node", h200x2, "matrix", "gpu_gpu_kernel", "--all")
    assert status == 0 and out.count("\n  gpu0 ") == 8 and out.count("bytes=large ") == 8 and "bytes=4096" not in out and " --size all " in out, out
    status, named, _ = berth("--node", h200x2, "matrix", "gpu_gpu_kernel", "--size", "large", "--all")
    assert status == 0 and named == out[:out.rindex("\n\n") + 1], (named, out)
    status, out, _ = berth("--node", h200x2, "matrix", "gpu_gpu_kernel", "--size", "64K", "--all")
    assert status == 0 and out.count("bytes=64 KiB ") == 4 and "large" not in out, out
    for bytes_ in ("64K", "65536"):
        assert berth("--node", h200x2, "matrix", "gpu_gpu_kernel", "--where", "bytes=" + bytes_, "--all")[1] == out, bytes_
    status, out, _ = berth("--node", h200x2, "matrix", "gpu_gpu_kernel", "--size", "all", "--all")
    assert status == 0 and out.count("\n  64 KiB ") == 4 and out.count("\n  large ") == 8, out
    status, _, err = berth("--node", h200x2, "matrix", "gpu_gpu_kernel", "--size", "lots")
    assert status == 64 and "or large, not lots" in err, err
    everything = [json.loads(berth("--node", h200x2, "--json", "matrix", "gpu_gpu_kernel", *size)[1])["cells"] for size in ((), ("--size", "all"))]
    assert everything[0] == everything[1] and len({cell["axes"]["bytes"] for cell in everything[0]}) == 10, len(everything[0])
    assert berth("--node", NODE, "status", "--wait")[0] == 0


def no_rate_and_no_interval_that_nobody_measured():
    def said(node, *words):
        status, out, err = berth("--node", HERE.parent / "nodes" / node, *words)
        assert status == 0, (words, err)
        return out

    # Between two small sizes a copy engine seemed to carry 3.54 TB/s: the time at which a piece begins is told instead, and the last one's rate.
    for metric in ("gpu_gpu_copy_engine", "gpu_gpu_kernel"):
        out = said("h200x4", "curves", metric, "gpu0,gpu3", "gpu1,gpu2")
        assert "TB/s" not in out and " GB/s" in out and " at " in out, out
    # Nobody repeated what is published.
    for words in (["matrix", "memory_bandwidth"], ["report", "-o", "-"]):
        out = said("mi250x", *words)
        assert "95 %" not in out and "GB/s" in out, words
    assert "95 % interval" in said("h200x2", "matrix", "gpu_gpu_copy_engine")


def noise_stands_beside_what_it_costs():
    """Rates and latencies with and without noise, of gpus from the copy kernels."""
    def said(node, *words):
        status, out, err = berth("--node", HERE.parent / "nodes" / node, *words)
        assert status == 0, (words, err)
        return out

    rows = [line.split() for line in said("h200x4", "matrix", "memory_noise").split("Alone, and beside")[1].splitlines()[2:]]
    assert len(rows) == 8 and rows[0] == ["gpu0", "numa0", "read", "51.3", "GB/s", "36.0", "GB/s", "70", "%", "169", "GB/s"], rows
    assert "Alone" not in said("h200x1", "matrix", "memory_noise"), "no rows, no table"
    with tempfile.TemporaryDirectory() as folder:
        node = pathlib.Path(folder) / "noisy"
        shutil.copytree(NODE, node)
        axes = {"noise": "numa"}
        values = [("memory_latency", {}, 100), ("memory_latency", axes, 150), ("memory_noise", axes, 20e9), ("memory_bandwidth", axes, 8e9),
                  ("memory_noise", {**axes, "beside": "read"}, 30e9)]
        lines = [{"record": "run", "schema": 1, "probe": "gpu", "backend": "hip", "started_at": 0, "source": "published", "conditions": {}},
                 *({"record": "value", "metric": metric, "from": "llc0", "to": "numa0", "axes": where, "value": value} for metric, where, value in values),
                 {"record": "end", "status": "complete", "elapsed_ns": 1}]
        (node / "measurements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        rows = [line.split() for line in said(node, "matrix", "memory_noise").split("Alone, and beside")[1].splitlines()[2:]]
        assert sorted(row[2:] for row in rows) == [["latency", "100", "ns", "150", "ns", "150", "%", "20", "GB/s"], ["read", "-", "8", "GB/s", "-", "30", "GB/s"]], rows


def iterations_from_which_managed_memory_is_faster():
    """The mark of a GH200, from made-up times."""
    with tempfile.TemporaryDirectory() as folder:
        node = pathlib.Path(folder) / "touched"
        shutil.copytree(NODE, node)
        times = {("managed", 1): 100, ("managed", 32): 110, ("managed", 128): 140, ("system", 1): 2, ("system", 32): 64, ("system", 128): 256, ("pinned", 128): 139}
        lines = [{"record": "run", "schema": 1, "probe": "gpu", "backend": "hip", "started_at": 0, "source": "published", "conditions": {}},
                 *({"record": "value", "metric": "gpu_touch", "from": "gpu0", "to": "numa3", "axes": {"kind": kind, "iterations": str(count)}, "value": value}
                   for (kind, count), value in times.items()),
                 {"record": "end", "status": "complete", "elapsed_ns": 1}]
        (node / "measurements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        status, out, err = berth("--node", node, "matrix", "gpu_touch")
        assert status == 0 and out.splitlines()[-1].split() == ["gpu0", "numa3", "128", "-"], (out, err)


def a_private_daemon_ends_with_its_command():
    with Service(lambda message: []) as other:  # somebody else's socket stays untouched
        assert berth("--node", NODE, "topo", socket_path=other.path)[0] == 0
    watcher = subprocess.Popen([BIN / "berth", "--node", NODE, "watch"], stdout=subprocess.PIPE)
    assert watcher.stdout.readline()
    children = pathlib.Path(f"/proc/{watcher.pid}/task/{watcher.pid}/children").read_text().split()
    assert len(children) == 1
    watcher.send_signal(signal.SIGKILL)
    watcher.wait()
    for _ in range(200):
        try:
            state = pathlib.Path(f"/proc/{children[0]}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError("the private daemon lives on")


def a_bad_node_folder_is_one_line():
    with tempfile.TemporaryDirectory() as folder:
        for path in (folder, folder + "/none"):
            status, out, err = berth("--node", path, "topo")
            assert status == 65 and out == "" and err.count("\n") == 1 and path in err, (status, err)
        with open(folder + "/broken.xml", "w") as file:
            file.write("<topology version='2.0'><object")
        status, out, err = berth("--node", folder, "topo")
        assert status == 65 and out == "" and err.count("\n") == 1, (status, err)


def an_empty_node_is_not_this_machine():
    status, out, err = berth("--node", "", "status")
    assert status == 64 and out == "" and "--node takes a folder" in err, (status, out, err)


def bind_says_what_can_be_checked():
    def said(node, *words):
        status, out, err = berth("--node", HERE.parent / "nodes" / node, "bind", "--why", *words)
        assert status == 0, (words, err)
        return " ".join(out.split())

    # Nothing moves: the ranks are there, only no bytes go from one to another.
    for words in (["--pattern", "ring", "--bytes", 0], ["--flow", "0:1:0"]):
        assert "placed by locality: without traffic of these ranks" in said("h200x4", "-n", 2, *words), words
    assert "3 transfers get 397 GB/s together, 390 GB/s alone" in said("h200x4", "-n", 4, "--pattern", "alltoall", "--bytes", "256M")
    # What starting costs is another pair's number, also where that pair is of the plan.
    out = said("h200x4", "-n", 4, "--pattern", "ring", "--bytes", "4K")
    assert "7.33 µs of that is for starting it" in out, out
    # Several transfers of one task: the order in which they are begun is said.
    differ = ["--flow", "2:0:5734", "--flow", "1:0:4096", "--flow", "0:2:11744051", "--flow", "0:1:2048"]
    order = "each task starts its transfers in this order: to the next task (t+1), to t+2 and so on round"
    assert order in said("h200x4", "-n", 3, *differ) and order not in said("h200x4", "-n", 4, "--pattern", "ring", "--bytes", "64K")
    # What is proven of lower bounds is called that; one of which no more is known is not as long as a whole price, nor so many times as long.
    assert "Proven of lower bounds: no other assignment is predicted to be better." in said("mi250x", "-n", 4, "--gpus", "0,1,6,7", "--pattern", "ring", "--bytes", "1K")
    out = said("h200x4-hand", "-n", 3, "--flow", "1:2:64K")
    assert "Proven" not in out and "2.31 µs; in rank order: at least 1.04 µs (lower bound)." in out, out
    # Two orders that nothing known tells apart: gpus are given out in order, and nothing is proven.
    assert "not proven to be the best: what starting a transfer costs is known of some gpus only" in said("h200x4-hand", "-n", 2, "--flow", "1:0:64K")
    # Which model's engines are known is not this one's.
    assert "the engines of another model of AMD's (gfx90a) are known not to fill such links" in said("mi300a", "-n", 4, "--pattern", "ring", "--bytes", "1G")


def closed_standard_descriptors_lose_no_error():
    def run(redirection, *arguments):
        done = subprocess.run(["/bin/sh", "-c", 'exec "$0" "$@" ' + redirection, BIN / "berth", *arguments], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    wanted = berth("--node", NODE, "status")[1].split("\n")[0]
    for closed in ("<&-", "2>&-", "<&- 2>&-"):
        status, out, err = run(closed, "--node", NODE, "status")
        assert (status, out.split("\n")[0], err) == (0, wanted, ""), (closed, status, out, err)
    for closed in (">&-", "<&- >&-"):
        status, out, err = run(closed, "--node", NODE, "status")
        assert status == 74 and "cannot write the answer" in err, (closed, status, out, err)
    status, out, err = run("<&-", "--node", "/nonexistent", "status")
    assert status == 65 and "/nonexistent" in err and "No such file" in err, (status, out, err)


def errors_of_the_daemon_have_their_statuses():
    for error, parameters, expected in [
        ("io.berth.Fabric.NoSuchMetric", {"metric": "x", "detail": "no metric x"}, (65, "berth: no metric x\n")),
        ("org.varlink.service.PermissionDenied", {}, (77, None)), ("org.varlink.service.InvalidParameter", {"parameter": "metric"}, (64, None)),
        ("io.berth.Health.Busy", {"by": "a job", "detail": "a job runs"}, (75, "berth: a job runs\n")),
        ("org.varlink.service.MethodNotImplemented", {"method": "m"}, (70, None)), ("io.berth.New.Thing", {}, (70, None)),
    ]:
        with Service(lambda _: [fails(error, **parameters)]) as service:  # noqa: B023
            status, out, err = berth("matrix", "x", socket_path=service.path)
            assert (status, out) == (expected[0], "") and err.count("\n") == 1 and expected[1] in (None, err), (error, status, err)


def daemons_that_lie_are_survived():
    for raw, expected in [
        (b"\0", 70), (b"nonsense\0", 70), (b'{"parameters":[]}\0', 70), (b'{"parameters":{}}\0', 0), (None, 69), (b'{"para', 69),
        (says({"places": 3, "links": "x", "software": 1, "disagreements": {}, "basis": []}), 0),
    ]:
        with Service(lambda _: [raw] if raw is None else [raw, None]) as service:  # noqa: B023
            status, _, err = berth("topo", socket_path=service.path)
            assert status == expected, (raw, status, err)
    with Service(lambda _: [b" " * 1048576] * 70) as service:
        status, _, err = berth("topo", socket_path=service.path)
        assert status == 70 and "64 MiB" in err, err


def json_is_what_the_daemon_wrote():
    text = '{"places": [], "number": 1.10, "text": "\\u00e9 \\" }"}'
    with Service(lambda _: [b'{"parameters": ' + text.encode() + b"}\0"]) as service:
        assert berth("topo", "--json", socket_path=service.path)[1] == text + "\n"


def health_tells_by_its_status():
    for verdict, expected in [("healthy", 0), ("degraded", 1), ("unhealthy", 2), ("unknown", 3), ("splendid", 3)]:
        finding = {"severity": "warning", "place": "gpu0", "code": "slow-link", "text": "slow\x1b[2J", "value": 1e9, "expected": 2e9, "unit": "bytes_per_s"}
        reply = {"verdict": verdict, "drain": False, "reason": "r", "findings": [finding], "snapshot": "s", "origin": "live"}
        with Service(lambda _: [says(reply)]) as service:  # noqa: B023
            status, out, _ = berth("health", "gpu0", socket_path=service.path)
            assert status == expected and "\x1b" not in out and "slow?[2J" in out and "1 GB/s, expected 2 GB/s" in out, (status, out)


def a_recording_stays_in_its_folder():
    good = {"node.json": "{}", "kfd/topology/nodes/0/properties": "cpu_cores_count 1\n"}
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "node"
        with Service(lambda _: [says({"file": f, "text": t}, continues=f != list(good)[-1]) for f, t in good.items()]) as service:
            assert berth("record", folder, socket_path=service.path)[0] == 0
            assert {f: (folder / f).read_text() for f in good} == good
            status, _, err = berth("record", folder, socket_path=service.path)
            assert status == 65 and "not empty" in err, err
        for name in ["../evil", "/tmp/evil", "a/../../evil", "", "a//b", "./a", "a/", "a\nb", "x" * 2000, ".."]:
            empty = pathlib.Path(tempfile.mkdtemp(dir=parent))
            with Service(lambda _: [says({"file": name, "text": "x"})]) as service:  # noqa: B023
                status, _, err = berth("record", empty, socket_path=service.path)
                assert status == 65 and not list(empty.iterdir()), (name, status, err)
        assert not (pathlib.Path(parent) / "evil").exists() and not pathlib.Path("/tmp/evil").exists()
        twice = pathlib.Path(tempfile.mkdtemp(dir=parent))
        with Service(lambda _: [says({"file": "a", "text": "1"}, continues=True), says({"file": "a", "text": "2"})]) as service:
            status, _, err = berth("record", twice, socket_path=service.path)
            assert status == 74 and err == f"berth: cannot write a: File exists; {twice} is no whole node and is to be removed\n", err
            assert (twice / "a").read_text() == "1"


def skipped(metric, what, why):
    return {"metric": metric, "what": what, "why": why}


PROGRESS = [{"done": i, "total": 2, "metric": "m", "from": "a0", "to": "b0", "remaining_ns": 1000} for i in (0, 1)]
PROBED = {"done": 2, "total": 2, "skipped": [skipped("m", "a0 b0", "no huge pages")], "measured": 1, "left_out": 1}


def probing_shows_progress_and_what_was_left_out():
    with Service(lambda _: [*(says(p, continues=True) for p in PROGRESS), says(PROBED)]) as service:
        status, out, err = berth("probe", "--full", "m", socket_path=service.path)
        assert (status, out) == (0, "1 value measured, 1 left out:\n  m a0 b0: no huge pages\n") and "0 of 2  m a0 b0" in err, (out, err)
        assert len(berth("probe", "--json", socket_path=service.path)[1].splitlines()) == 3
    for last, wanted in (({"left_out": 0, "measured": 2, "skipped": None}, "2 values measured, 0 left out\n"),
                         ({"left_out": 3}, "1 value measured, 3 left out:\n  m a0 b0: no huge pages\n  and 2 more\n"),
                         ({"left_out": 6, "skipped": [skipped("m", "a0 b0", "no huge pages"), skipped("n", "a0 b0", "slow"), *(skipped("m", f"a{i} b{i}", "no huge pages") for i in (1, 2, 3)), skipped(None, "gpu1", "1 process is on it")]},
                          "gpu1: 1 process is on it\n1 value measured, 6 left out:\n  m, 4 times: no huge pages (a0 b0, ...)\n  n a0 b0: slow\n"),
                         ({"left_out": None, "measured": None}, "2 of 2 tried; left out:\n  m a0 b0: no huge pages\n")):
        with Service(lambda _: [says({**PROBED, **last})]) as service:  # noqa: B023
            assert berth("probe", socket_path=service.path)[1] == wanted, last
    with Service(lambda _: [says(PROGRESS[0], continues=True), None]) as service:
        assert berth("probe", "--json", socket_path=service.path)[0] == 69


def open_terminal():
    try:
        return pty.openpty()
    except OSError as error:
        raise LeftOut(f"no terminal can be opened here: {error}") from error


def interrupting_a_probe_detaches():
    seen = []

    def answer(message):
        seen.append(message["method"])
        return [says(PROGRESS[1], continues=True)]

    with Service(answer) as service:
        master, slave = open_terminal()
        probe = subprocess.Popen([BIN / "berth", "probe"], stderr=slave, stdout=subprocess.PIPE, env={**os.environ, "BERTH_SOCKET": service.path, "TERM": "xterm"})
        os.close(slave)
        shown = b""
        while b"1 of 2" not in shown:
            shown += os.read(master, 4096)
        probe.send_signal(signal.SIGINT)
        assert probe.wait(10) == 130
        while b"berth cancel stops it" not in shown:
            shown += os.read(master, 4096)
        os.close(master)
        assert seen == ["io.berth.Health.Probe"] and b"\r[" in shown, (seen, shown)


def waiting_sees_a_daemon_come_and_become_ready():
    directory = tempfile.mkdtemp(prefix="berth-test-")
    path = directory + "/s"
    waiting = subprocess.Popen([BIN / "berth", "status", "--wait", "--timeout", "20", "--json", "--socket", path], stdout=subprocess.PIPE)
    time.sleep(0.1)
    states = iter(["starting", "probing", "ready"])
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    for last in (False, True):  # the first daemon goes away before it is ready
        connection = listener.accept()[0]
        connection.recv(65536)
        connection.sendall(says({"state": next(states), "basis": BASIS}, continues=True))
        if last:
            connection.sendall(says({"state": next(states), "basis": BASIS}, continues=True))
        else:
            connection.close()
    out, _ = waiting.communicate(timeout=20)
    listener.close()
    shutil.rmtree(directory)
    assert waiting.returncode == 0 and json.loads(out)["state"] == "ready", out


def colour_is_for_terminals():
    def on_terminal(**environment):
        master, slave = open_terminal()
        done = subprocess.Popen([BIN / "berth", "--node", NODE, "topo"], stdout=slave, env={**os.environ, "TERM": "xterm", **environment})
        os.close(slave)
        shown = b""
        try:
            while data := os.read(master, 65536):
                shown += data
        except OSError:
            pass
        os.close(master)
        assert done.wait(10) == 0
        return shown

    os.environ.pop("NO_COLOR", None)
    assert b"\x1b[1m" in on_terminal()
    assert b"\x1b[" not in on_terminal(NO_COLOR="1")
    assert b"\x1b[" not in on_terminal(TERM="dumb")
    assert "\x1b[" not in berth("--node", NODE, "topo", TERM="xterm")[1]


def gpus_that_cannot_be_opened_are_told_by_their_file():
    if any(os.path.exists(path) for path in ("/dev/kfd", "/dev/dri/renderD128")):
        raise LeftOut("this machine has device files of AMD's gpus")
    why, error = "none is allowed (allowed.gpus): the tasks have none (gpu0: /dev/dri/renderD128 is not there)", "8 gpus are there and none is allowed (allowed.gpus); with gpus_per_task 0 the tasks have none (gpu0: /dev/dri/renderD128 is not there)"
    with Daemon("--node", NODE) as daemon:
        status, out, err = berth("bind", "-n", "2", socket_path=daemon.socket)
        assert status == 0 and why in " ".join(out.split()) and err == "", (status, out, err)
        status, out, err = berth("bind", "-n", "2", "-g", "1", socket_path=daemon.socket)
        assert status == 65 and error in err and err.count("\n") == 1, (status, out, err)
        for words in (("alloc", "1G", "--by", "gpu0:reads=1G"), ("route", "gpu0", "gpu1", "64M")):
            status, out, err = berth(*words, socket_path=daemon.socket)
            assert (status, out, err) == (65, "", "berth: gpu0 is not among the gpus that are allowed: none (gpu0: /dev/dri/renderD128 is not there); for the whole node add --cpus 0-127 --gpus 0-7\n"), (status, out, err)
            assert berth(*words, "--cpus", "0-127", "--gpus", "0-7", socket_path=daemon.socket)[::2] == (0, "")
        status, out, err = berth("exec", "-n", "2", "-t", "0", "-g", "1", "true", socket_path=daemon.socket)
        assert status == 0 and error in err and "whole node" not in err and err.count("\n") == 1, (status, out, err)
        status, out, err = berth("exec", "--verbose", "-n", "2", "-t", "0", "true", socket_path=daemon.socket)
        assert status == 0 and why in err, (status, out, err)
        assert "is not there" not in berth("--json", "bind", "-n", "2", socket_path=daemon.socket)[1]


TESTS = [an_unproven_plan_names_the_bound, a_day_of_the_history_tells_its_values, 
    help_comes_from_the_table, wrong_usage_is_64_and_one_line, choices_are_those_of_the_schema, no_daemon_is_69_and_says_what_to_do, a_recorded_node_is_drawn_and_planned_for,
    no_rate_and_no_interval_that_nobody_measured, noise_stands_beside_what_it_costs, iterations_from_which_managed_memory_is_faster, a_private_daemon_ends_with_its_command, a_bad_node_folder_is_one_line, an_empty_node_is_not_this_machine,
    bind_says_what_can_be_checked, closed_standard_descriptors_lose_no_error, errors_of_the_daemon_have_their_statuses,
    daemons_that_lie_are_survived, json_is_what_the_daemon_wrote, health_tells_by_its_status, a_recording_stays_in_its_folder,
    probing_shows_progress_and_what_was_left_out, interrupting_a_probe_detaches, waiting_sees_a_daemon_come_and_become_ready,
    colour_is_for_terminals, gpus_that_cannot_be_opened_are_told_by_their_file,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
