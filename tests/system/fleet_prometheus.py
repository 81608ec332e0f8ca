"""A real Prometheus scrapes 200 drawn nodes: its rules find the nodes that berth fleet finds, and every panel has data.

Prints TAP.
"""
import concurrent.futures
import contextlib
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import fleet_nodes as drawn  # noqa: E402
from berthd import BIN, NODES  # noqa: E402
from exported import run, tool  # noqa: E402
from metrics import expressions  # noqa: E402
from tap import run_tests  # noqa: E402

ETC = HERE.parent.parent / "etc"
COUNT = 200
SLOW = {17: drawn.Fault(0.10, ("gpu1", "gpu3")), 31: drawn.Fault(0.10, ("gpu2",)), 48: drawn.Fault(0.30, ("gpu0", "gpu2")),
        123: drawn.Fault(0.05, ("gpu0",)), 150: drawn.Fault(0.10, ("gpu2", "gpu3"))}
# of a live daemon alone: a recorded node has neither free memory nor a baseline; no node here has a finding
EMPTY = {"berth_memory_free_bytes", "berth_baseline_ratio", "berth_finding"}


def write_nodes(folder):
    """Copies of h200x4 with drawn values at default axes, which are those that are exported."""
    series = [one for one in drawn.all_series(4000) if one.axes == {}]
    # which h200x4 lacks
    series.append(drawn.Series({"record": "value", "metric": "memory_latency", "from": "llc0", "to": "numa0", "axes": {}, "value": 97.5}))
    node = json.loads((NODES / "h200x4/node.json").read_text())
    for i in range(COUNT):
        name = f"n{i:04}"
        files = drawn.files(series, name, drawn.draw_node(series, i, SLOW.get(i)), {})
        files["topology.xml"], files["facts.jsonl"] = ((NODES / "h200x4" / file).read_text() for file in ("topology.xml", "facts.jsonl"))
        files["node.json"] = json.dumps({**node, "name": name, "fingerprint": drawn.FINGERPRINT})
        drawn.write_folder(folder / name, files)


def exports(folder):
    """What berth export prometheus prints for each node."""
    def one(path):
        status, text, said = run(BIN / "berth", "--node", path, "export", "prometheus")
        assert (status, said) == (0, ""), said
        return path.name, text.encode()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(pool.map(one, sorted(folder.iterdir())))


@contextlib.contextmanager
def served(pages):
    """Serves each node's metrics at /NAME, as its node_exporter would."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = pages[self.path.strip("/")]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def until(holds, seconds=90):
    """Several rounds of scraping and of rules may pass before all nodes are in them."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "never true"
        time.sleep(0.5)


class Prometheus:
    def __init__(self, folder, target, names):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        shutil.copy(ETC / "prometheus/berth.rules.yml", folder)
        targets = [{"targets": [f"127.0.0.1:{target}"], "labels": {"__metrics_path__": f"/{name}", "instance": name}} for name in names]
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"}, "rule_files": ["berth.rules.yml"],
            "scrape_configs": [{"job_name": "node", "static_configs": targets}]}))
        self.log = open(folder / "log", "wb")
        self.process = subprocess.Popen([tool("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                         f"--web.listen-address=127.0.0.1:{self.port}"], stderr=self.log, stdout=self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def ask(self, query):
        """[(labels, number)] of an instant query."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(url, timeout=20) as reply:
            told = json.load(reply)
        assert told["status"] == "success", told
        return [(one["metric"], float(one["value"][1])) for one in told["data"]["result"]]

    def named(self, query):
        """The numbers of the nodes in the answer; none before Prometheus answers."""
        with contextlib.suppress(OSError):
            return {int(labels["instance"][1:]) for labels, _ in self.ask(query)}
        assert self.process.poll() is None, "prometheus ended"
        return set()


def rules_and_panels_say_what_berth_fleet_says():
    tool("prometheus")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        nodes = folder / "nodes"
        write_nodes(nodes)
        status, text, said = run(BIN / "berth", "--json", "fleet", nodes)
        assert (status, said) == (0, ""), said
        told = {int(slow["node"][1:]): slow["worst"] for slow in json.loads(text)["slow"]}
        assert set(SLOW) <= set(told) and len(told) <= len(SLOW) + 1, sorted(told)
        pages = exports(nodes)
        with served(pages) as port, Prometheus(folder, port, pages) as prometheus:
            until(lambda: len(prometheus.named("count by (instance) (berth:place:deviations)")) == COUNT)
            until(lambda: prometheus.named("berth:place:loss >= 0.02 and berth:place:deviations > 7") == set(SLOW))
            until(lambda: prometheus.named('ALERTS{alertname="BerthSlowerThanItsClass"}') == set(SLOW))
            for number, fault in SLOW.items():
                place = sorted(fault.gpus)
                place = place[0] if len(place) == 1 else ">".join(place)
                ((_, loss),) = prometheus.ask(f'berth:place:loss{{instance="n{number:04}",place="{place}"}}')
                assert abs(loss - told[number]["loss"]) < 0.02, (number, loss, told[number])
            dashboard = json.loads((ETC / "grafana/berth.json").read_text())
            for panel in dashboard["panels"]:
                for query in expressions(panel):
                    found = prometheus.ask(query.replace("$node", ".*").replace("$metric", "gpu_gpu_copy_engine").replace("$hardware", ".*"))
                    is_empty = any(name in query for name in EMPTY)
                    assert is_empty or found, (panel["title"], query)
                    if "berth:place" in query:
                        assert {labels["instance"] for labels, _ in found} == {f"n{number:04}" for number in SLOW}, found


if __name__ == "__main__":
    sys.exit(run_tests([rules_and_panels_say_what_berth_fleet_says]) > 0)
