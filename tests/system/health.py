"""Verdicts on sound nodes: recorded, virtual and measured, reconstructed. Prints TAP."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from top import Terminal, is_built  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent.parent / "standin"


def berth(*arguments):
    return subprocess.run([BIN / "berth", *map(str, arguments)], capture_output=True, text=True, timeout=200, env={**os.environ, "LANG": "C.UTF-8"})


def verdict(*arguments):
    """Exit status, verdict and findings of berth health."""
    done = berth("--json", *arguments, "health")
    check = json.loads(done.stdout)
    return done.returncode, check["verdict"], check["findings"]


@contextlib.contextmanager
def measured(name, *lines, facts=()):
    """A daemon that serves the virtual node of that name, just measured by the real probes. facts:
    of a GPU, what its driver says and shall say, as text.
    """
    with tempfile.TemporaryDirectory(prefix="berth-health-") as folder:
        node, probes, description = (pathlib.Path(folder) / part for part in ("node", "probes", "description.node"))
        shutil.copytree(NODES / name, node)
        about = json.loads((node / "node.json").read_text())
        about.pop("measurements", None)
        (node / "node.json").write_text(json.dumps({**about, "origin": "standin"}))
        for gpu, said, shall in facts:
            lines_of = (node / "facts.jsonl").read_text().splitlines()
            assert any(f'"gpu":"{gpu}"' in line and said in line for line in lines_of), (gpu, said)
            (node / "facts.jsonl").write_text("".join((line.replace(said, shall) if f'"gpu":"{gpu}"' in line else line) + "\n" for line in lines_of))
        description.write_text("".join(line + "\n" for line in (f"include {HERE}/nodes/{name}.node", *lines)))
        probes.mkdir()
        program = probes / "berth-probe-gpu"
        program.write_text(f"#!/bin/bash\nSTANDIN={os.environ['STANDIN']} exec {HERE}/run.sh {description} {BIN}/berth-probe-gpu \"$@\"\n")
        program.chmod(0o755)
        with Daemon("--node", node, "--no-probe", config=f"probe_dir = {probes}\n") as daemon:
            done = berth("--socket", daemon.socket, "probe")
            assert done.returncode == 0, done.stderr
            daemon.description = description
            yield daemon


def a_node_that_gets_slower_says_what_since_when_and_what_to_do():
    """The commands of the administrator's guide; one measurement decides, so that nobody waits."""
    if b"__asan_init" in (BIN / "berthd").read_bytes():
        raise LeftOut("a sanitizer takes minutes for four measurements of a virtual node")
    guide = (HERE.parent.parent / "docs/ADMIN.md").read_text()
    block = re.search(r"^```sh clone\n(.*?)^```", guide, re.S | re.M)[1]
    assert "sleep 120\n" in block and "make standins\n" in block, block
    with tempfile.TemporaryDirectory(prefix="berth-slow-") as folder:
        for name in ("tests", "docs"):
            os.symlink(HERE.parent.parent / name, f"{folder}/{name}")
        os.makedirs(f"{folder}/build")
        os.symlink(pathlib.Path(BIN).absolute(), f"{folder}/build/bin")
        block = re.sub(r"^(make|sleep) .*\n", "", block, flags=re.M).replace("daemon.sh h200x4 build/slow-node &", "daemon.sh h200x4 build/slow-node 'duty_percent = 0' &")
        done = subprocess.run(["bash", "-m", "-c", block + "wait\n"], cwd=folder, capture_output=True, text=True, timeout=200, env={**os.environ, "LANG": "C.UTF-8", "STANDIN": os.environ["STANDIN"]})
    said = " ".join(done.stdout.split())
    healthy, once, slow, why = re.findall(r"(?:healthy|degraded): .*?(?=last measured)", said)
    assert healthy.startswith("healthy: ") and healthy.endswith("none out of line "), (done.stdout, done.stderr)
    for text in (once, slow, why):
        assert text.startswith("degraded: gpu2: host_gpu_copy_engine from numa0 to gpu2 is 9 GB/s, 14 % of what is stated (63 GB/s)"), done.stdout
        assert re.search(r"\[below-nominal\] since 20\d\d-\d\d-\d\d [0-9:]+ \S+ do: look for IOMMU", text), done.stdout
    assert len(set(re.findall(r"\[below-nominal\] since (\S+ \S+)", said))) == 1 and "measured " not in slow, done.stdout
    assert "measured 9 GB/s, 20" in why and "expected 63.0 GB/s: the rate that firmware or the link states by its own past: " in why and "conditions, compared with those of 20" in why, done.stdout


def recorded_nodes_are_healthy():
    for name in ("h100x2", "h100x2-full", "h100x4", "h100x4-full", "h200x1", "h200x2", "h200x4", "h200x4-hand"):
        assert verdict("--node", NODES / name) == (0, "healthy", []), (name, verdict("--node", NODES / name))


def where_nothing_was_measured_is_unknown():
    folders = [NODES / name for name in ("epyc-2s", "gh200-quad", "knl-like", "memoryless-v1", "mi250x", "mi300a")]
    more = os.environ.get("BERTH_NODES")
    folders += [path.parent for path in sorted(pathlib.Path(more).glob("*/node.json"))] if more else []
    for folder in folders:
        assert verdict("--node", folder) == (3, "unknown", []), (folder, verdict("--node", folder))


def virtual_nodes_are_healthy():
    for name, *lines in (("mi250x",), ("gh200-quad",), ("h200x4",), ("mi300a",), ("mi250x", "noise 0.01 7"), ("gh200-quad", "noise 0.01 7")):
        with measured(name, *lines) as daemon:
            assert verdict("--socket", daemon.socket) == (0, "healthy", []), (name, lines, verdict("--socket", daemon.socket))


def actions_have_commands_of_the_vendor_and_the_device():
    for name, slow, place, vendor in (("h200x4", "path engine * host 2 rate=9e9 ns=1900", "gpu2", "nvidia-smi -q -d POWER -i 0000:00:08.0"),
                                      ("mi250x", "path kernel read gpu host rate=4e9 ns=3000", "gpu0", "rocm-smi --showpower --showmaxpower")):
        with measured(name, slow) as daemon:
            finding = verdict("--socket", daemon.socket)[2][0]
            [pci] = [one["pci"] for one in daemon.call("io.berth.Fabric.GetNode")["places"] if one["name"] == place]
            assert (finding["place"], finding["code"], finding["action"]) == (place, "below-nominal", "look for IOMMU, ACS, power caps, a wrong BIOS profile"), finding
            assert finding["commands"] == ["dmesg | grep -i -e DMAR -e AMD-Vi -e iommu", f"lspci -vvv -s {pci} | grep -i acs", vendor], finding
            lines = [line.strip() for line in berth("--socket", daemon.socket, "health").stdout.splitlines()]
            assert set(finding["commands"]) <= set(lines) and lines[0].endswith(finding["text"].split(";")[0].split(": ")[-1]) and not lines[1].count("of what is stated"), lines


def a_slow_gpu_is_one_finding():
    with measured("h200x4", "path engine * host 2 rate=9e9 ns=1900", "path engine * 2 host rate=9e9 ns=1900") as daemon:
        code, found, findings = verdict("--socket", daemon.socket)
        assert (code, found, len(findings)) == (1, "degraded", 1), (found, findings)
        assert "gpu2" in findings[0]["text"] and "more values of gpu2" in findings[0]["text"], findings


def history_of(daemon, cell):
    axes = [word for axis, value in cell["where"].items() for word in ("--where", f"{axis}={value}")]
    return " ".join(berth("--socket", daemon.socket, "history", cell["metric"], cell["from"], cell["to"], *axes).stdout.split())


def values_of_top(daemon):
    """Line of each metric in the values' view of berth top."""
    top = Terminal(daemon.socket)
    top.until("q quit")
    top.key("v")
    text = top.until("host_gpu_copy_engine", "gpu_stream")
    top.key("q")
    assert top.end() == 0
    return " ".join(text.split())


def judged_alike(good, gb_per_s, codes):
    """A path goes bad after so many good values, is measured three times, and is mended. Health,
    history, top and watch judge by one reference; what is expected stays that of the good values.
    """
    asked = {"metric": "host_gpu_copy_engine", "from": "numa0", "to": "gpu2"}
    with measured("h200x4") as daemon:
        def probe(times):
            for _ in range(times):
                assert berth("--socket", daemon.socket, "probe", asked["metric"]).returncode == 0

        sound = daemon.description.read_text()
        probe(good - 1)
        watcher = subprocess.Popen([BIN / "berth", "--socket", daemon.socket, "watch"], stdout=subprocess.PIPE, text=True, env={**os.environ, "LANG": "C.UTF-8"})
        assert "watching from snapshot" in watcher.stdout.readline()
        first = daemon.call("io.berth.Health.GetBaseline", asked)["baseline"]
        assert first["values"] == min(good, 16) and verdict("--socket", daemon.socket) == (0, "healthy", [])
        daemon.description.write_text(f"{sound}path engine * host 2 rate={gb_per_s}e9 ns=1900\npath engine * host gpu kind=pageable rate=12e9 ns=6000\n")
        time.sleep(1.1)  # times are in seconds
        for run in range(3):
            probe(1)
            status, _, [finding] = verdict("--socket", daemon.socket)
            assert status == (1 if good < 5 or run < 2 else 2) and finding["code"] in codes and finding["cell"] == {**finding["cell"], **asked}, finding
            reply = daemon.call("io.berth.Health.GetBaseline", asked)
            judgement = {key: finding[key] for key in ("code", "severity", "expected", "since_s")}
            assert reply["judgement"] == {**judgement, "unconfirmed": False}, (reply, finding)
            assert {key: reply["baseline"][key] for key in ("expected", "values")} == {key: first[key] for key in ("expected", "values")}, reply
            share = f"{100 * finding['value'] / finding['expected']:.0f} % of "
            history = history_of(daemon, finding["cell"])
            assert share in finding["text"] and share in history.split(" expected ")[0] and ": worse " in history and f"{finding['code']} since " in history, (finding, history)
            assert history.endswith(" worse") and history.count(" worse 20") == run, history
            nagios = berth("--socket", daemon.socket, "health", "--nagios").stdout
            assert share in nagios and nagios.startswith(("WARNING", "CRITICAL")[status - 1]), nagios
        assert "!host_gpu_copy_engine" in values_of_top(daemon)
        daemon.description.write_text(sound)
        probe(1)
        assert verdict("--socket", daemon.socket) == (0, "healthy", []), verdict("--socket", daemon.socket)
        history = history_of(daemon, finding["cell"])
        assert "55.6 GB/s, 100 % of what is expected expected 55.6 GB/s" in history and not history.endswith("worse"), history
        assert daemon.call("io.berth.Health.GetBaseline", asked)["judgement"] is None
        assert "!host_gpu_copy_engine" not in values_of_top(daemon)
        watcher.terminate()
        told = re.findall(r" health: (\w+: (?:gpu2)?)", watcher.communicate()[0])
        assert told[0] == "degraded: gpu2" and told[-1] == "healthy: " and len(told) in (2, 3), told


def a_value_gone_bad_is_judged_alike_by_health_history_and_top():
    is_built()
    judged_alike(1, 9, {"below-nominal"})
    judged_alike(3, 40, {"slower-than-peers"})
    judged_alike(30, 42, {"slower-than-baseline", "slower-than-peers"})


def a_node_that_is_slow_from_the_start_expects_it_once_it_is_accepted():
    asked = {"metric": "host_gpu_copy_engine", "from": "numa0", "to": "gpu2"}
    with measured("h200x4", "path engine * host 2 rate=9e9 ns=1900") as daemon:
        assert daemon.call("io.berth.Health.GetBaseline", asked)["baseline"] is None
        accepted = berth("--socket", daemon.socket, "accept", "gpu2")
        assert accepted.returncode == 0 and "measured values are expected from now on" in accepted.stdout, accepted
        assert "berth health still says: degraded: gpu2: host_gpu_copy_engine from numa0 to gpu2 is 9 GB/s, 14 % of what is stated" in " ".join(accepted.stdout.split()), accepted
        for values in (1, 2):
            baseline = daemon.call("io.berth.Health.GetBaseline", asked)["baseline"]
            assert (baseline["expected"], baseline["values"], baseline["accepted"]) == (9e9, values, True), baseline
            assert berth("--socket", daemon.socket, "probe", asked["metric"]).returncode == 0
        # What is stated stays: no user can accept that.
        assert "14 % of what is stated: worse" in history_of(daemon, {**asked, "where": {}})


def what_a_fault_slows_is_not_expected():
    """Of a GPU with half its links, and of one whose clocks are held down: nothing is learned there."""
    cases = ((("gpu3", '"nvlinks_up":18', '"nvlinks_up":9'), "path engine write 3 peer rate=198e9 ns=1780", "gpu_gpu_copy_engine", ("gpu3", "gpu0"), ("gpu0", "gpu1")),
             (("gpu1", '"throttle":"none"', '"throttle":"software-thermal"'), "path kernel * 1 own rate=3900e9 ns=2200", "gpu_stream", ("gpu1", "gpu1"), ("gpu0", "gpu0")))
    for fact, slow, metric, ends, others in cases:
        with measured("h200x4", slow, facts=[fact]) as daemon:
            status, found, findings = verdict("--socket", daemon.socket)
            assert (status, found, [finding["place"] for finding in findings]) == (1, "degraded", [ends[0]]), findings
            for (a, b), is_expected in ((ends, False), (others, True)):
                baseline = daemon.call("io.berth.Health.GetBaseline", {"metric": metric, "from": a, "to": b})["baseline"]
                assert (baseline is not None) == is_expected, (a, b, baseline)
            assert "% of" not in history_of(daemon, {"metric": metric, "from": ends[0], "to": ends[1], "where": {}})


@contextlib.contextmanager
def recorded_but(name, facts, slow):
    """A copy of a recorded node with these facts changed, and each value times slow of its record."""
    with tempfile.TemporaryDirectory(prefix="berth-health-") as folder:
        node = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / name, node)
        for file in ("facts.jsonl", "measurements.jsonl"):
            records = [json.loads(line) for line in (node / file).read_text().splitlines()]
            for record in records:
                record.update(facts.get(record.get("gpu"), {}))
                record.update({key: record[key] * slow(record) for key in ("value", "low", "high") if record.get(key)})
            (node / file).write_text("".join(json.dumps(record) + "\n" for record in records))
        yield node


def a_narrow_link_is_the_one_finding_of_what_it_makes_slow():
    def slow(record):
        is_copy = record["record"] == "value" and record["metric"] == "host_gpu_copy_engine"
        shares = {"gpu2": 0.5, "gpu3": 0.4}
        return min(shares.get(record[end], 1) for end in ("from", "to")) if is_copy else 1

    with recorded_but("h200x4", {}, slow) as node:
        before = verdict("--node", node)[2]
        assert [finding["code"] for finding in before] == ["below-nominal", "below-nominal"], before
    with recorded_but("h200x4", {"gpu2": {"pcie_width": 8}}, slow) as node:
        code, found, findings = verdict("--node", node)
        assert (code, found) == (1, "degraded"), (code, found)
        assert [finding["code"] for finding in findings] == ["pcie-narrow", "below-nominal"], findings
        fact, other = findings
        assert fact["place"] == "gpu2" and fact["explains"] == 20 and len(fact["slow"]) == 16, fact
        assert fact["slow"][0] == {"series": "host_gpu_copy_engine numa0 gpu2", "value": 27560800000.0,
                                   "expected": 63015384674.0723, "unit": "bytes_per_s"}, fact
        assert fact["text"] == ("its PCIe link is 8 lanes wide, of 16; it explains 20 slow values, the worst "
                                "host_gpu_copy_engine from numa0 to gpu2: 27.6 GB/s, expected 63 GB/s"), fact
        assert "more values of gpu3" in other["text"] and (other["explains"], other["slow"]) == (0, []), other
        said = berth("--node", node, "health").stdout
        assert "\n            host_gpu_copy_engine numa0 gpu2: 27.6 GB/s, expected 63.0 GB/s\n" in said, said
        assert "\n            and 16 more\n            do: reseat it, look at the slot's firmware setting, then berth probe\n" in said, said
        assert " bytes=1 MiB: " in said and "1048576" not in said, said
        why = " ".join(berth("--node", node, "health", "--why").stdout.split())
        assert " and 4 more do: reseat it" in why and "expected 63.0 GB/s: the rate that firmware or the link states by its own past: no baseline yet" in why, why
        assert said.count("            do: ") == 2 and "do: look for IOMMU" in said, said
        metrics = berth("--node", node, "export", "prometheus").stdout
        series = [line for line in metrics.splitlines() if line.startswith("berth_finding{")]
        assert series == ['berth_finding{severity="warning",code="pcie-narrow",place="gpu2"} 1',
                          'berth_finding{severity="warning",code="below-nominal",place="gpu3"} 1'], series
        assert 'berth_findings{severity="warning"} 2' in metrics, metrics


def what_sources_disagree_about_is_told_by_topo():
    topo = berth("--node", NODES / "h200x4", "topo").stdout
    assert "The sources disagree" in topo and "numa0, alone, has 6.8 GiB of memory" in topo, topo


def broken_lines_of_a_folder_are_told():
    """Their cells say why they have no value, and a finding counts them; the number that another line has stays."""
    with tempfile.TemporaryDirectory(prefix="berth-health-") as folder:
        node = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "h200x1", node)
        lines = (node / "measurements.jsonl").read_text().splitlines()
        for to, value in ((1, "NaN"), (2, "1e400")):
            at = next(i for i, line in enumerate(lines) if f'"from":"core0","to":"core{to}","axes":{{}},"value"' in line)
            begin = lines[at].index('"value":') + len('"value":')
            lines[at] = lines[at][:begin] + value + lines[at][lines[at].index(",", begin):]
        lines += ["garbage", next(line for line in lines if '"from":"core0","to":"core3"' in line).split('"value":')[0] + '"value":null}']
        (node / "measurements.jsonl").write_text("\n".join(lines) + "\n")
        status, said, findings = verdict("--node", node)
        assert (status, said, [finding["code"] for finding in findings]) == (1, "degraded", ["folder-garbage"]), findings
        assert findings[0]["text"].startswith("4 lines are left out of the measurements, the first is line 3: "), findings
        done = berth("--json", "--node", node, "matrix", "cpu_pingpong")
        cells = {cell["to"]: cell for cell in json.loads(done.stdout)["cells"] if cell["from"] == "core0"}
        for to, number in (("core1", 3), ("core2", 4)):
            assert cells[to].get("value") is None, cells[to]
            assert cells[to]["why_not"].startswith(f"line {number} of the measurements is no value: "), cells[to]
        assert cells["core3"]["value"] > 0, cells["core3"]


TESTS = [a_node_that_gets_slower_says_what_since_when_and_what_to_do, recorded_nodes_are_healthy, broken_lines_of_a_folder_are_told, where_nothing_was_measured_is_unknown, virtual_nodes_are_healthy, a_slow_gpu_is_one_finding, actions_have_commands_of_the_vendor_and_the_device,
         a_value_gone_bad_is_judged_alike_by_health_history_and_top, a_node_that_is_slow_from_the_start_expects_it_once_it_is_accepted,
         what_a_fault_slows_is_not_expected,
         a_narrow_link_is_the_one_finding_of_what_it_makes_slow,
         what_sources_disagree_about_is_told_by_topo]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
