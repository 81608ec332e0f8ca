"""The page of berth report: complete, without scripts, consistent with the other commands.

Prints TAP.
"""
import html
import html.parser
import json
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, GPU_RUN, NODES, Daemon, fake_gpu_probe, fake_probe, until  # noqa: E402
from berthd import RUN as BERTHD_RUN  # noqa: E402
from exported import berth, cells, made, nodes, places, run  # noqa: E402
from service import Service  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import call  # noqa: E402


class Page(html.parser.HTMLParser):
    """Contents of a page; fails where tags do not close each other."""
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        self.words.append(data)


def report(node):
    status, text, said = berth(node, "report", "-o", "-")
    assert (status, said) == (0, ""), (node, said)
    return text


def check_alone(page):
    """Nothing runs, and nothing is loaded."""
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base", "image", "use"} & set(page.tags), page.tags
    assert not [pair for pair in page.attributes if pair[0].startswith("on") or pair[0] in ("src", "href", "xlink:href", "action", "background")]


def test_report_of_every_node():
    for node in nodes():
        text = report(node)
        page = Page(text)
        check_alone(page)
        assert "url(" not in text and "@import" not in text, node
        verdict = json.loads(berth(node, "--json", "health")[1])
        assert ("class", f"verdict {verdict['verdict']}") in page.attributes and verdict["reason"] in page.words[page.words.index(verdict["reason"])], node
        drawn = set(re.findall(r"\w+", " ".join(page.words)))
        for kind in ("gpu", "numa", "nic", "switch", "package"):
            assert places(node, kind).keys() <= drawn, (node, kind)


TIME = r"20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8} [A-Z+0-9-]+"


def test_report_has_the_cells():
    node = NODES / "h200x4"
    text = report(node)
    for cell in cells(node, "gpu_gpu_copy_engine"):
        axes = " ".join(f"{key}={value}" for key, value in sorted(cell["axes"].items()))
        found = re.search(rf'<td[^>]*title="{cell["from"]} to {cell["to"]}, measured {TIME}, 95 % [^"]* repetitions, {axes}">(\d+)</td>', text)
        assert found and abs(int(found[1]) - cell["value"] / 1e9) <= 0.5, cell
    assert "<h3>gpu_gpu_copy_engine, GB/s <" in text, "the unit is in the title"
    assert re.search(rf"<title>[0-9.]+ ns: core0 to core1, measured {TIME}, 95 % ", text) and "<title></title>" not in text
    assert re.search(r'title="L3 llc0 to numa0: the lines visited[^"]*">&ndash;</td>', text), "why it is missing"
    assert "<summary>copy engine between two gpus: 397 to 398 GB/s, higher is better</summary>" in text
    text = report(NODES / "mi250x")
    assert "What to do" not in text and "over time (" not in text, "no finding, no history"
    assert "<h3>gpu_gpu_copy_engine, GB/s, published <" in text and ">50</td>" in text


def test_report_believes_nobody():
    with made("mi250x", [], name='<script>alert("1") \' onload=x') as node:
        page = Page(report(node))
        check_alone(page)
        assert any("<script>alert" in words for words in page.words)


def test_report_believes_no_unit():
    with Daemon("--node", NODES / "mi250x") as daemon:
        def answer(message):
            error, reply = call(daemon.socket, message["method"], message.get("parameters"))
            if "unit" in reply:
                reply["unit"] = "<script>"
            return [json.dumps({"error": error, "parameters": reply} if error else {"parameters": reply}).encode() + b"\0"]
        with Service(answer) as service:
            status, text, said = run(BIN / "berth", "--socket", service.path, "report", "-o", "-")
    assert status == 0, said
    page = Page(text)
    check_alone(page)
    assert "?script?" in text


def test_values_found_at_one_time_are_one_row():
    """The others unfold below; what came at another time, and a fact, have rows of their own."""
    def found(place, value, since_s):
        return {"severity": "warning", "place": place, "code": "slower-than-peers", "text": f"{place} is <slow>", "value": value, "expected": 100.0, "unit": "bytes_per_s", "since_s": since_s,
                "cleared_s": None, "critical_since_s": None, "accepted": None}

    changes = [found("gpu0", 50.0, 1790000000), found("gpu1", 40.0, 1790000000), found("gpu2", None, 1790000000), found("gpu3", 30.0, 1780000000), found("gpu4", 60.0, 1790000000)]
    with Daemon("--node", NODES / "mi250x") as daemon:
        def answer(message):
            error, reply = call(daemon.socket, message["method"], message.get("parameters"))
            if message["method"].endswith("ListFindings"):
                reply = {"findings": changes}
            return [json.dumps({"error": error, "parameters": reply} if error else {"parameters": reply}).encode() + b"\0"]
        with Service(answer) as service:
            status, text, said = run(BIN / "berth", "--socket", service.path, "report", "-o", "-")
    assert status == 0, said
    check_alone(Page(text))
    rows = re.findall(r"<tr>.*?</tr>", text[text.index(">History<"):], re.S)
    assert len(rows) == 1 + 3 and "<summary>gpu0 is &lt;slow&gt;; and 2 more values</summary>gpu1: gpu1 is &lt;slow&gt;<br/>" in rows[1].replace("\n", "") and "gpu4: gpu4 is" in rows[1], rows
    assert "gpu2 is" in rows[2] and "gpu3 is" in rows[3] and "more value" not in rows[2] + rows[3], rows


def test_report_shows_what_changed():
    script = f"""echo '{BERTHD_RUN}' | sed "s/1790000000/$(date +%s)/"
echo '{{"record":"value","metric":"memory_bandwidth","from":"numa0","to":"numa0","axes":{{}},"value":2'$$'e6,"n":9}}'
echo '{{"record":"end","status":"complete","elapsed_ns":1}}'
"""
    with fake_probe(script) as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
        daemon.wait_ready()
        before = run(BIN / "berth", "--socket", daemon.socket, "report", "-o", "-")
        time.sleep(1.1)  # runs of one second would be one point
        daemon.call("io.berth.Health.Probe")
        until(lambda: len(daemon.call("io.berth.Fabric.History", {"metric": "memory_bandwidth", "from": "numa0", "to": "numa0"})["points"]) > 1)
        after = run(BIN / "berth", "--socket", daemon.socket, "report", "-o", "-")
        assert before[0] == after[0] == 0 and "polyline" not in before[1], before[2] + after[2]
        assert "memory_bandwidth from numa0 to numa0</h3>" in after[1] and "2 points; dashed: the baseline" in after[1]
        check_alone(Page(after[1]))


def test_a_curve_tells_its_latest_points_from_older_ones():
    """A quick measurement finds the pair slower, at three of five sizes."""
    with fake_gpu_probe('cat "${0%/*}/lines"\n') as (folder, probes):
        def says(sizes, rate):
            values = [{"record": "value", "metric": "gpu_gpu_copy_engine", "from": "gpu0", "to": "gpu1", "axes": {"bytes": str(size)}, "value": rate * size / 2**20, "n": 9} for size in sizes]
            lines = [{**json.loads(GPU_RUN), "started_at_s": int(time.time())}, *values, {"record": "end", "status": "complete", "elapsed_ns": 5}]
            (probes / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))

        says([4096, 65536, 2**20, 2**24, 2**28], 4e9)
        with Daemon("--node", folder, config=f"probe_dir = {probes}\nduty_percent = 0\n") as daemon:
            daemon.wait_ready()
            first = run(BIN / "berth", "--socket", daemon.socket, "report", "-o", "-")[1]
            time.sleep(1.1)
            says([4096, 65536, 2**20], 1e9)
            assert run(BIN / "berth", "--socket", daemon.socket, "probe")[0] == 0
            page = run(BIN / "berth", "--socket", daemon.socket, "report", "-o", "-")[1]
    plot, before = (re.search(r"<h3>gpu_gpu_copy_engine</h3>.*?</div>\n(?:<p>.*?</p>\n)+", text, re.S)[0] for text in (page, first))
    lines = [len(points.split()) for points in re.findall(r"<polyline[^>]* points=\"([^\"]*)\"", plot)]
    assert lines == [3, 2] and plot.count('fill="none"><title>') == 2 and plot.count("<circle") == 5 and "Hollow and dashed: " in plot, plot
    assert before.count('fill="none"><title>') == 0 and before.count("<circle") == 5 and "Hollow" not in before, before
    check_alone(Page(page))


def test_report_has_findings_with_actions_and_claims():
    with tempfile.TemporaryDirectory() as folder:
        value = pathlib.Path(folder) / "value"
        value.write_text("20e9")
        script = f"""echo '{BERTHD_RUN}' | sed "s/1790000000/$(date +%s)/"
echo '{{"record":"value","metric":"memory_bandwidth","from":"numa0","to":"numa0","axes":{{}},"value":'$(cat {value})',"n":9}}'
echo '{{"record":"end","status":"complete","elapsed_ns":1}}'
"""
        with fake_probe(script) as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
            daemon.wait_ready()
            daemon.call("io.berth.Health.AcceptBaseline")
            time.sleep(1.1)
            value.write_text("10e9")
            daemon.call("io.berth.Health.Probe")
            assert until(lambda: daemon.call("io.berth.Health.Check")["findings"])
            claim = run(BIN / "berth", "--socket", daemon.socket, "claim", "core0", "--ttl", "60", "-q")[1].strip()
            status, text, said = run(BIN / "berth", "--socket", daemon.socket, "report", "-o", "-")
            finding = next(f for f in daemon.call("io.berth.Health.Check")["findings"] if f["code"] == "slower-than-baseline")
    assert status == 0, said
    check_alone(Page(text))
    action = ("berth history memory_bandwidth numa0 numa0 shows since when, berth health --why which condition changed."
              " If none did, look at clocks, heat and seating. If it is intended, berth accept numa0")
    row = re.search(rf"<tr>(?:(?!</tr>).)*{re.escape(html.escape(finding['text'], quote=False))}.*?</tr>", text, re.S)
    assert row and "warning" in row[0] and html.escape(action, quote=False) in row[0].replace("&quot;", '"'), (finding, action)
    assert text.index('class="verdict') < text.index(row[0]) < text.index('<svg class="node"'), "actions come before the picture"
    assert "the worst cell of each matrix over time (1 of at most 24; <code>berth history" in text
    assert "still there" in text and 'class="began"' in text and 'class="band"' in text, "the history"
    assert re.search(rf"{claim}</td>.*core0 \(compute\)", text), claim


def test_report_is_written_at_once():
    with made("mi250x", []) as node, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "node.html"
        assert re.fullmatch(rf"wrote {path}, [0-9.]+ KiB\n", berth(node, "report", "-o", path)[1]) and path.read_text().endswith("</html>\n")
        for arguments, words in (((), "where to?"), (("-o", path, "--json"), "no --json")):
            status, text, said = berth(node, "report", *arguments)
            assert status == 64 and (text == "") == ("--json" not in arguments) and words in said, said
        status, _, said = berth(node, "report", "-o", pathlib.Path(folder) / "no" / "where")
        assert status == 74 and said.startswith("berth: cannot write"), said


if __name__ == "__main__":
    sys.exit(run_tests([test for name, test in sorted(globals().items(), key=lambda item: getattr(getattr(item[1], "__code__", None), "co_firstlineno", 0))
                        if name.startswith("test_")]) > 0)
