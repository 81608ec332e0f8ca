"""berth export prometheus, the alert rules, the dashboard and the timer that go with it, read by promtool and systemd."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, NODES, Daemon, fake_probe, until  # noqa: E402
from berthd import RUN as BERTHD_RUN  # noqa: E402
from exported import berth, cells, export, made, nodes, run, tool, value  # noqa: E402
from tap import run_tests  # noqa: E402


def samples(text):
    """[(name, labels, value)] of the text format."""
    found = []
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, number = re.match(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$', line).groups()
            found.append((name, dict(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', labels or "")), float(number)))
    return found


def test_prometheus_of_every_node():
    promtool = tool("promtool")
    for node in nodes():
        text = export(node, "prometheus")
        status, out, said = run(promtool, "check", "metrics", text=text)
        assert status == 0 and out + said == "", (node, out, said)
        found = samples(text)
        keys = [(name, tuple(sorted(labels.items()))) for name, labels, _ in found]
        assert len(keys) == len(set(keys)), node
        assert len(found) < 4000, (node, len(found))
        assert {labels.get("source") for name, labels, _ in found if "source" in labels} <= {"measured", "published"}, node
        assert sum(number for name, _, number in found if name == "berth_health") == 1


def test_prometheus_has_the_values_of_the_matrix():
    node = NODES / "h200x4"
    found = {(labels["metric"], labels["from"], labels["to"]): number for name, labels, number in samples(export(node, "prometheus"))
             if name in ("berth_bandwidth_bytes_per_second", "berth_latency_seconds")}
    for metric, unit in (("memory_bandwidth", 1), ("gpu_gpu_copy_engine", 1), ("host_gpu_copy_engine", 1), ("memory_latency", 1e9)):
        expected = {(metric, c["from"], c["to"]): c["value"] / unit for c in cells(node, metric) if c["value"] is not None}
        assert expected and all(abs(found[key] / number - 1) < 1e-6 for key, number in expected.items()), metric
    health = json.loads(berth(node, "--json", "health")[1])
    verdicts = {labels["verdict"]: number for name, labels, number in samples(export(node, "prometheus")) if name == "berth_health"}
    assert verdicts[health["verdict"]] == 1 and sorted(verdicts.values()) == [0, 0, 0, 1]


def test_prometheus_is_bounded():
    records = [value("gpu_gpu_copy_engine", f"gpu{a}", f"gpu{b}", 1e10 + a, direction="write") for a in range(8) for b in range(8) if a != b]
    sizes = [value("gpu_gpu_copy_engine", f"gpu{a}", f"gpu{b}", 1e9, bytes=str(4096 << s)) for a in range(8) for b in range(8) for s in range(8) if a != b]
    with made("mi250x", records + sizes) as node:
        found = samples(export(node, "prometheus"))
        assert len([1 for _, labels, _ in found if labels.get("metric") == "gpu_gpu_copy_engine"]) == 56
        assert [number for name, _, number in found if name == "berth_series_left_out"] == [0]


def test_prometheus_has_the_baseline_and_free_places():
    rates = {(a, b): 1e10 * (1 + a) for a in range(4) for b in range(4)}
    with made("epyc-2s", [value("memory_bandwidth", f"numa{a}", f"numa{b}", rate) for (a, b), rate in rates.items()]) as node:
        found = samples(export(node, "prometheus"))
        assert {labels["kind"]: number for name, labels, number in found if name == "berth_places_free"} == {"numa": 4, "core": 32, "gpu": 0}
        assert {labels["kind"]: number for name, labels, number in found if name == "berth_places"}["pu"] == 64
        assert not [name for name, _, _ in found if name == "berth_memory_free_bytes"], "a recorded node has no free memory"


def test_a_live_daemon_has_free_memory_claims_and_baselines():
    """Metrics that a recorded node cannot have: those of this machine."""
    script = f"""echo '{BERTHD_RUN}'
echo '{{"record":"value","metric":"memory_bandwidth","from":"numa0","to":"numa0","axes":{{}},"value":2e10,"low":1.9e10,"high":2.1e10,"n":9}}'
echo '{{"record":"end","status":"complete","elapsed_ns":1}}'
"""
    with fake_probe(script) as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
        daemon.wait_ready()
        text = daemon.call("io.berth.Fabric.Export", {"format": "prometheus"})["text"]
        assert run(tool("promtool"), "check", "metrics", text=text) == (0, "", "")
        found = samples(text)
        free = {labels["place"]: number for name, labels, number in found if name == "berth_memory_free_bytes"}
        assert free["numa0"] > 0, free
        ratios = [(labels, number) for name, labels, number in found if name == "berth_baseline_ratio"]
        assert ratios == [({"metric": "memory_bandwidth", "from": "numa0", "to": "numa0", "source": "measured"}, 1)], ratios
        before = {labels["kind"]: number for name, labels, number in found if name == "berth_places_free"}
        daemon.call("io.berth.Placement.Claim", {"places": ["core0"], "ttl_s": 60, "purpose": "compute"})
        text = daemon.call("io.berth.Fabric.Export", {"format": "prometheus"})["text"]
        after = {labels["kind"]: number for name, labels, number in samples(text) if name == "berth_places_free"}
        assert after == {**before, "core": before["core"] - 1}, (before, after)
        xml = daemon.call("io.berth.Fabric.Export", {"format": "hwloc"})["text"]
        assert 'name="ReadBandwidth"' in xml and "BerthSnapshot" in xml


def expressions(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "expr":
                yield inner
            else:
                yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)


def test_rules_and_dashboard():
    promtool, etc = tool("promtool"), HERE.parent.parent / "etc"
    known = {name for node in nodes() for name, _, _ in samples(export(node, "prometheus"))} | {
        "berth_memory_free_bytes", "berth_baseline_ratio", "berth_finding", "berth_last_probe_timestamp_seconds"}  # which a live node has: above
    rules = (etc / "prometheus/berth.rules.yml").read_text()
    recorded = set(re.findall(r"- record: (\S+)", rules))
    used = [expression for expression in re.findall(r"expr: ((?:\|\n(?: {10,}.*\n)+)|.*)", rules)]
    dashboard = json.loads((etc / "grafana/berth.json").read_text())
    drawn = list(expressions(dashboard))
    assert len(used) >= 8 and len(drawn) >= 12, (len(used), len(drawn))
    for expression in used + drawn + [variable.get("definition", "") for variable in dashboard["templating"]["list"]]:
        names = set(re.findall(r"\b(?:berth_[a-z_]+|berth:[a-z_:]+)", expression))
        assert names <= known | recorded, (expression, names - known - recorded)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "berth.rules.yml").write_text(rules)
        status, out, said = run(promtool, "check", "rules", folder / "berth.rules.yml")
        assert status == 0, out + said
        status, out, said = run(promtool, "test", "rules", HERE / "metrics_rules.yml")
        assert status == 0, out + said
        # what the dashboard asks is PromQL: as rules, promtool reads it
        asked = [expression.replace("$node", ".*").replace("$metric", "m") for expression in drawn]
        (folder / "asked.yml").write_text(json.dumps({"groups": [{"name": "g", "rules": [{"record": f"r:{i}", "expr": e} for i, e in enumerate(asked)]}]}))
        status, out, said = run(promtool, "check", "rules", folder / "asked.yml")
        assert status == 0, out + said
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_every_alert_is_tried():
    rules, tried = (HERE.parent.parent / "etc/prometheus/berth.rules.yml").read_text(), (HERE / "metrics_rules.yml").read_text()
    for alert in re.findall(r"- alert: (\S+)", rules):
        assert re.search(rf"alertname: {alert}\n +exp_alerts:\n +- exp_labels", tried), alert


def test_units():
    analyze, systemd = tool("systemd-analyze"), HERE.parent.parent / "systemd"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ("berthd.service", "berth-export.service"):
            (folder / name).write_text((systemd / f"{name}.in").read_text().replace("@BINDIR@", str(BIN)))
        for name in ("berthd.socket", "berth-export.timer"):
            shutil.copy(systemd / name, folder)
        status, out, said = run(analyze, "verify", folder / "berth-export.service", folder / "berth-export.timer")
        assert (status, out + said) == (0, ""), out + said
        status, out, said = run(analyze, "security", "--offline=yes", "--threshold=20", folder / "berth-export.service")
        assert status == 0, out + said
        # the command of the unit, with the unit's variable, over a daemon of the test's
        unit = (folder / "berth-export.service").read_text()
        command = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].replace("${BERTH_TEXTFILE}", str(folder / "berth.prom"))
        with Daemon("--node", str(NODES / "mi250x")) as daemon:
            status, out, said = run(*command.split(), environment={"BERTH_SOCKET": daemon.socket})
            assert (status, said) == (0, "") and out.startswith("wrote "), (status, out, said)
        assert samples((folder / "berth.prom").read_text())
        assert oct((folder / "berth.prom").stat().st_mode & 0o777) == oct(0o666 & ~umask())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def server(folder, *command):
    """A server of the test's; its log is shown when something fails."""
    with open(folder / "log", "ab") as log, subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, cwd=folder) as process:
        try:
            yield
        except BaseException:
            print((folder / "log").read_text(errors="replace")[-2000:])
            raise
        finally:
            process.kill()


def asked(port, path):
    """The data of an answer of Prometheus; None before it listens."""
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}", timeout=10) as answer:
            return json.load(answer)["data"]


def test_prometheus_scrapes_it_through_node_exporter():
    """A real node_exporter reads the file, a real Prometheus asks it and evaluates the rules."""
    exporter, prometheus = tool("prometheus-node-exporter"), tool("prometheus")
    exported, asking = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="berth-scrape-") as folder:
        folder = pathlib.Path(folder)
        (folder / "textfile").mkdir()
        assert berth(NODES / "h200x4", "export", "prometheus", "-o", folder / "textfile/berth.prom")[0] == 0
        expected = {(name, frozenset(labels.items())): number for name, labels, number in samples((folder / "textfile/berth.prom").read_text())}
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": [str(HERE.parent.parent / "etc/prometheus/berth.rules.yml")],
            "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": [f"127.0.0.1:{exported}"]}]}]}))
        with server(folder, exporter, "--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}/textfile",
                    f"--web.listen-address=127.0.0.1:{exported}"), \
             server(folder, prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                    f"--web.listen-address=127.0.0.1:{asking}"):
            found = until(lambda: (asked(asking, "query?query=" + urllib.parse.quote('{__name__=~"berth_.*"}')) or {}).get("result"), 60)
            groups = until(lambda: all(rule["health"] == "ok" for group in asked(asking, "rules")["groups"] for rule in group["rules"])
                           and asked(asking, "rules")["groups"], 30)
            recorded = until(lambda: asked(asking, "query?query=berth:bandwidth:by_hardware")["result"], 30)
            errors = asked(asking, "query?query=node_textfile_scrape_error")["result"]
        ours = {(series["metric"].pop("__name__"), frozenset((key, text) for key, text in series["metric"].items() if key not in ("instance", "job"))):
                float(series["value"][1]) for series in found}
        assert ours == expected and len(ours) > 100, (len(ours), len(expected), ours.items() ^ expected.items())
        assert groups and recorded and {series["metric"]["hardware"] for series in recorded} == {"beb1da49"}, (groups, recorded)
        assert [float(series["value"][1]) for series in errors] == [0], errors


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_names_from_outside_end_no_label():
    with made("mi250x", [], name='a"} 1 \\ {d}\u00e9') as node:
        text = export(node, "prometheus")
        assert run(tool("promtool"), "check", "metrics", text=text) == (0, "", ""), text


if __name__ == "__main__":
    sys.exit(run_tests([test for name, test in sorted(globals().items(), key=lambda item: getattr(getattr(item[1], "__code__", None), "co_firstlineno", 0))
                        if name.startswith("test_")]) > 0)
