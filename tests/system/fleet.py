"""berth fleet: slow nodes among many, what they share, baselines of a class, and hostile files.

Prints TAP.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import fleet_nodes as drawn  # noqa: E402
from baseline_drift import node as scripted  # noqa: E402
from baseline_drift import probe  # noqa: E402
from berthd import BIN, NODES, Daemon, findings  # noqa: E402
from exported import run  # noqa: E402
from report import Page, check_alone  # noqa: E402
from tap import run_tests  # noqa: E402
from terminal_width import WIDTH, shown  # noqa: E402

SERIES = drawn.all_series(600)
SLOW = {"n0017": drawn.Fault(0.05, ("gpu1", "gpu3")), "n0031": drawn.Fault(0.10, ("gpu2",)),
        "n0048": drawn.Fault(0.30, ("gpu0", "gpu2")), "n0100": drawn.Fault(0.03, ("gpu1",)),
        "n0123": drawn.Fault(0.05, ("gpu0",)), "n0150": drawn.Fault(0.10, ("gpu2", "gpu3"))}


def fleet(*arguments):
    """Status, answer as text, and what was said."""
    return run(BIN / "berth", "fleet", *arguments)


def answer(*arguments):
    status, text, said = fleet("--json", *arguments)
    assert status == 0, (status, said)
    return json.loads(text), said


def archive(path, faults, nodes=200, software=lambda i: {"driver": "570.1", "kernel": "6.8"}, bios=lambda i: "1.0"):
    """A tar of nodes n0000, n0001, ...; faults by name, or by a function of the number."""
    with tarfile.open(path, "w") as tar:
        for i in range(nodes):
            name = f"n{i:04}"
            fault = faults(i) if callable(faults) else faults.get(name)
            values = drawn.draw_node(SERIES, i, fault)
            drawn.put_in_tar(tar, name, drawn.files(SERIES, name, values, software(i), bios(i)))


def the_slow_ones_are_named():
    with tempfile.TemporaryDirectory() as folder:
        archive(f"{folder}/all.tar", SLOW)
        told, said = answer(folder)
        assert said == "", said
        named = {slow["node"]: slow["worst"] for slow in told["slow"]}
        assert set(SLOW) <= set(named), set(SLOW) - set(named)
        assert len(named) <= len(SLOW) + 1, set(named) - set(SLOW)  # 1 % of the named ones
        for name, fault in SLOW.items():
            worst = named[name]
            ends = {end for end in (worst["from"], worst["to"]) if end}
            assert ends <= fault.gpus if len(fault.gpus) == 1 else ends == fault.gpus, (name, worst)
            assert worst["low"] <= fault.loss <= worst["high"], (name, worst)
        assert (told["nodes"], told["compared"], told["values"]) == (200, 200, 200 * len(SERIES))
        assert told["slow"] == sorted(told["slow"], key=lambda slow: -slow["worst"]["loss"])
        status, text, said = fleet(folder)
        first = text.splitlines()[0]
        assert status == 0 and first.startswith(f"{len(named)} of 200 nodes are slow: n0048 gpu"), text
        assert max(map(len, text.splitlines())) <= 100 and len(text.splitlines()) <= 40, text
        why = fleet("--why", folder)[1]
        assert "its class" in why and "its class" not in text


def a_loss_of_one_metric_names_its_gpu():
    """Copy engines of one GPU lose 10 %: neither all of the GPU does, nor the metric everywhere."""
    fault = drawn.Fault(0.1, ("gpu2",))
    with tempfile.TemporaryDirectory() as folder:
        for i in range(40):
            values = drawn.draw_node(SERIES, i)
            if i == 5:
                values = [value * (0.9 if fault.hits(one) and one.metric == "gpu_gpu_copy_engine" else 1) for one, value in zip(SERIES, values)]
            drawn.write_folder(f"{folder}/n{i}", drawn.files(SERIES, f"n{i}", values, {}))
        told, _ = answer(folder)
        (slow,) = told["slow"]
        worst = slow["worst"]
        assert (slow["node"], worst["metric"], worst["from"], worst["to"]) == ("n5", "gpu_gpu_copy_engine", "gpu2", None), worst
        assert worst["low"] <= 0.1 <= worst["high"] and worst["series"] > 8, worst
        assert "n5 gpu2 gpu_gpu_copy_engine -" in fleet(folder)[1].splitlines()[0]


def healthy_nodes_are_not():
    with tempfile.TemporaryDirectory() as folder:
        archive(f"{folder}/all.tar", {})
        told, _ = answer(folder)
        assert len(told["slow"]) <= 1, [slow["worst"] for slow in told["slow"]][:3]
        assert told["shared"] == []


def class_values_are_medians():
    with tempfile.TemporaryDirectory() as folder:
        archive(f"{folder}/all.tar", SLOW, 60)
        told, _ = answer(folder)
        (only,) = told["classes"]
        assert only["fingerprint"] == drawn.FINGERPRINT and only["series"] == len(SERIES)
        by_key = {(one["metric"], one["from"], one["to"], json.dumps(one["axes"], sort_keys=True)): one for one in only["values"]}
        for series in SERIES:
            if len(series.ends) < 2:
                continue
            record = json.loads(series.key + "}")
            one = by_key[record["metric"], record["from"], record["to"], json.dumps(record["axes"], sort_keys=True)]
            assert one["nodes"] == 60 and abs(one["value"] / series.value - 1) < 0.02, (one, series.value)
            assert 0.003 < one["deviation"] < 0.05, one


def a_shared_condition_is_named():
    def bad(i):
        return i % 8 == 3

    with tempfile.TemporaryDirectory() as folder:
        archive(f"{folder}/all.tar", lambda i: drawn.Fault(0.05) if bad(i) else None,
                software=lambda i: {"driver": "580.9" if bad(i) else f"570.{i % 2}", "kernel": f"6.{i % 3}"})
        told, _ = answer(folder)
        assert {(one["condition"], one["value"]) for one in told["shared"]} == {("driver", "580.9")}, told["shared"]
        (shared,) = told["shared"]
        assert (shared["with"], shared["nodes"]) == (25, 200) and shared["slow_with"] >= 24, shared
        assert 0.02 <= shared["slower"]["loss"] <= 0.06, shared
        assert "driver 580.9" in fleet(folder)[1].splitlines()[0]
        # half of the nodes: none is an outlier, and the condition is named all the same
        archive(f"{folder}/all.tar", lambda i: drawn.Fault(0.05) if i % 2 else None, bios=lambda i: "2.1" if i % 2 else "2.0")
        told, _ = answer(folder)
        assert [(one["condition"], one["value"]) for one in told["shared"]] == [("bios", "2.1")], told["shared"]


def few_nodes_suffice():
    """Classes of eight: ten fleets with a slow pair, and ten without."""
    with tempfile.TemporaryDirectory() as folder:
        found = alarms = 0
        for seed in range(20):
            with tarfile.open(f"{folder}/all.tar", "w") as tar:
                for i in range(8):
                    fault = drawn.Fault(0.1, ("gpu1", "gpu2")) if seed < 10 and i == 3 else None
                    drawn.put_in_tar(tar, f"n{i}", drawn.files(SERIES, f"n{i}", drawn.draw_node(SERIES, f"{seed} {i}", fault), {}))
            named = {slow["node"] for slow in answer(folder)[0]["slow"]}
            found += seed < 10 and "n3" in named
            alarms += len(named - {"n3"} if seed < 10 else named)
        assert found >= 9 and alarms <= 1, (found, alarms)


def a_condition_of_many_divides_the_class():
    """Half of the nodes are slower altogether; a slow pair is found in either half."""
    faults = {"n0020": drawn.Fault(0.08, ("gpu1", "gpu3")), "n0151": drawn.Fault(0.12, ("gpu0", "gpu2"))}

    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(f"{folder}/all.tar", "w") as tar:
            for i in range(200):
                values = drawn.draw_node(SERIES, i, faults.get(f"n{i:04}"))
                if i % 2:
                    values = [value * (1.06 if series.is_time else 0.94) for series, value in zip(SERIES, values)]
                drawn.put_in_tar(tar, f"n{i:04}", drawn.files(SERIES, f"n{i:04}", values, {"driver": "580" if i % 2 else "570", "kernel": f"6.{i % 3}"}))
        told, said = answer("--baseline", f"{folder}/baselines", folder)
        assert {slow["node"]: slow["worst"]["from"] for slow in told["slow"]} == {"n0020": "gpu1", "n0151": "gpu0"}, told["slow"]
        (shared,) = told["shared"]
        assert (shared["condition"], shared["value"], shared["with"], shared["nodes"], shared["slow_with"], shared["slow"]) == ("driver", "580", 100, 200, 1, 2)
        assert 0.05 < shared["slower"]["loss"] < 0.07, shared
        assert [(one["nodes"], one.get("with"), one.get("without")) for one in told["classes"]] == [
            (100, None, {"condition": "driver", "value": "580"}), (100, {"condition": "driver", "value": "580"}, None)]
        # the baseline is that of the faster ones
        (file,) = pathlib.Path(folder, "baselines").iterdir()
        head, first = map(json.loads, file.read_text().splitlines()[:2])
        assert head["nodes"] == 100 and abs(sorted(first["values"])[8] / SERIES[0].value - 1) < 0.02, (head, first)
        text = fleet("-o", f"{folder}/page.html", folder)[1]
        assert "with driver 580" in text and "without driver 580" in pathlib.Path(folder, "page.html").read_text()


def hardware_is_not_mixed():
    with tempfile.TemporaryDirectory() as folder:
        for i in range(24):
            other = i % 2 == 1
            values = [value * (0.7 if other else 1) for value in drawn.draw_node(SERIES, i)]
            drawn.write_folder(f"{folder}/n{i}", drawn.files(SERIES, f"n{i}", values, {}, fingerprint=("0" if other else "1") * 32))
        drawn.write_folder(f"{folder}/one", drawn.files(SERIES, "one", values, {}, fingerprint="2" * 32))
        told, _ = answer(folder)
        assert told["slow"] == [], [slow["worst"] for slow in told["slow"]]
        assert [(one["nodes"], one["compared"]) for one in told["classes"]] == [(12, True), (12, True), (1, False)]
        assert told["compared"] == 24


def recorded_nodes_have_their_fingerprint():
    with tempfile.TemporaryDirectory() as folder:
        for i in range(5):
            assert run(BIN / "berth", "--node", NODES / "h200x4", "record", f"{folder}/n{i}")[0] == 0
        told, said = answer(folder)
        (only,) = told["classes"]
        assert len(only["fingerprint"]) == 32 and only["nodes"] == 1, (only["fingerprint"], only["nodes"])  # one record
        assert said == "" or "is a copy of" in said, said


def a_new_node_is_judged_by_its_class():
    """A node that is slow from its first day: at its first measuring."""
    draw = random.Random(3)
    with scripted() as machine, tempfile.TemporaryDirectory() as folder:
        with Daemon("--no-probe", config=machine.config) as daemon:
            for i in range(12):
                machine.says(100e9 * draw.gauss(1, 0.01))
                probe(daemon)
                kept = pathlib.Path(folder, "records", f"n{i}")
                kept.parent.mkdir(exist_ok=True)
                assert run(BIN / "berth", "--socket", daemon.socket, "record", kept)[0] == 0
                told = json.loads((kept / "node.json").read_text())
                (kept / "node.json").write_text(json.dumps({**told, "name": f"n{i}"}))
        status, text, said = fleet("--baseline", f"{folder}/baselines", f"{folder}/records")
        assert (status, said) == (0, "") and "1 baseline in" in text, (text, said)
        (file,) = pathlib.Path(folder, "baselines").iterdir()
        assert file.name == told["fingerprint"] + ".baseline"
        for speed, is_slow in ((100e9, False), (85e9, True)):
            machine.says(speed)
            with Daemon("--no-probe", config=machine.config + f"baseline = {folder}/baselines\n") as new:
                probe(new)
                found = findings(new)
                assert ("slower-than-baseline" in found) == is_slow, found
                if is_slow:
                    assert 98e9 < found["slower-than-baseline"]["expected"] < 102e9, found
            with Daemon("--no-probe", config=machine.config) as new:
                probe(new)
                assert "slower-than-baseline" not in findings(new)
        # a baseline of a class is no node; without a fingerprint there is none
        told, said = answer(f"{folder}/records", f"{folder}/baselines")
        assert told["nodes"] == 12 and "baseline of a class" in said, said
        # but that of a node is one
        (file,) = pathlib.Path(folder, "baselines").iterdir()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        del lines[0]["nodes"]
        for i in range(6):
            lines[0]["machine"] = f"b{i}"
            text = "".join(json.dumps(line) + "\n" for line in lines)
            pathlib.Path(folder, f"b{i}.baseline").write_text(text)
        pathlib.Path(folder, "cut.baseline").write_text(text[:text.index('{"record": "end"')].replace('"b5"', '"cut"'))
        told, said = answer(folder)
        assert told["nodes"] == 18 and "cut.baseline: it is cut off: the end record" in said, (told["nodes"], said)
        assert fleet("--lines", f"{folder}/b0.baseline")[1].count('"node":"b0"') == len(lines) - 2
        status, text, said = fleet("--baseline", f"{folder}/none", NODES)
        assert status == 0 and "0 baselines" in text and list(pathlib.Path(folder, "none").iterdir()) == [], text


def the_page_is_complete():
    with tempfile.TemporaryDirectory() as folder:
        archive(f"{folder}/all.tar", lambda i: SLOW.get(f"n{i:04}") or (drawn.Fault(0.05) if i % 8 == 3 else None), 60,
                software=lambda i: {"driver": "<b>580" if i % 8 == 3 else "570"})
        status, text, said = fleet("-o", "-", folder)
        assert (status, said) == (0, "")
        page = Page(text)
        check_alone(page)
        assert "<b>580" in " ".join(page.words) and "svg" in page.tags, page.words[:60]
        told, _ = answer(folder)
        for slow in told["slow"]:
            assert slow["node"] in page.words, slow["node"]
        status, printed, said = fleet("-o", f"{folder}/page.html", folder)
        assert (status, said) == (0, "") and printed.startswith(f"{len(told['slow'])} of 60 nodes are slow")
        assert pathlib.Path(folder, "page.html").read_text().count("<tr>") == text.count("<tr>") > 8
        assert fleet("--lines", "-o", "-", folder)[0] == 64


def hostile_files_are_left_out():
    draw = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for i in range(8):
            drawn.write_folder(folder / f"n{i}", drawn.files(SERIES, f"n{i}", drawn.draw_node(SERIES, i), {}))
        whole = drawn.files(SERIES, "x", drawn.draw_node(SERIES, 9), {})
        lines = whole["measurements.jsonl"]
        bad = {"deep": "[" * 100000, "empty": "", "zeros": "\0" * 5000, "long": lines.splitlines()[0] + "\n" + "x" * 300000,
               "text": "hello\n" * 10, "array": "[1]\n" * 3, "number": lines.replace('"value":', '"value":-'),
               "huge": lines.replace(',"low"', 'e300,"low"'), "axes": lines.replace('"axes":{', '"axes":{"no":"axis",'),
               "place": lines.replace('"from":"', '"from":"' + "g" * 200)}
        for name, text in bad.items():
            drawn.write_folder(folder / name, {**whole, "node.json": whole["node.json"].replace('"x"', f'"{name}"'), "measurements.jsonl": text})
        drawn.write_folder(folder / "nojson", {**whole, "node.json": "{" * 70000})
        drawn.write_folder(folder / "nothing", {"node.json": "{}"})
        archive(folder / "cut.tar", {}, 2)
        cut = (folder / "cut.tar").read_bytes()
        (folder / "cut.tar").write_bytes(cut[:len(cut) * 2 // 3])
        (folder / "noise.tar").write_bytes(draw.randbytes(100000))
        (folder / "noise.baseline").write_bytes(draw.randbytes(10000))
        (folder / "link").symlink_to(folder)
        (folder / "fifo.tar").unlink(missing_ok=True)
        subprocess.run(["mkfifo", folder / "fifo.tar"], check=True)
        told, said = answer(folder)
        by_file = {pathlib.Path(one["file"]).name: one["why"] for one in told["left_out"]}
        assert set(bad) | {"nojson", "nothing", "cut.tar", "noise.tar", "noise.baseline", "fifo.tar"} <= set(by_file), by_file
        assert told["compared"] >= 8 and not {"deep", "empty", "huge", "axes"} & {slow["node"] for slow in told["slow"]}
        assert len(said.splitlines()) == 11 and "other files are left out" in said, said
        both = subprocess.run([BIN / "berth", "fleet", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout.splitlines()
        assert " nodes " in both[0] and all("warning: " in line for line in both[-11:]), both  # the answer is first
        page = fleet("-o", "-", folder)[1]
        assert "Left out" in page and "here are the first" not in page, page[-3000:]
        for i in range(100):
            drawn.write_folder(folder / f"m{i}", {"node.json": "{}"})
        assert "; here are the first 100." in fleet("-o", "-", folder)[1]
        assert all(len(line) < 1000 for line in said.splitlines())
        status, text, said = fleet(folder / "nowhere")
        assert (status, text) == (65, "") and "No such file" in said and "no node was read" in said, (status, said)
        assert fleet()[0] == 64 and fleet("--least", "0", folder)[0] == 64


def large_files_are_left_out():
    """Sparse files of 1 TB take no room on the disk: each is a line, and the other nodes go on."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(9):
            drawn.write_folder(f"{folder}/n{i}", drawn.files(SERIES, f"n{i}", drawn.draw_node(SERIES, i), {}))
        large = ("z.baseline", "n1/measurements.jsonl", "n2/facts.jsonl", "n3/topology.xml", "n4/node.json")
        for name in large:
            with open(f"{folder}/{name}", "ab") as file:
                file.truncate(1 << 40)
        done = subprocess.run([BIN / "berth", "--json", "fleet", folder], capture_output=True, text=True, timeout=30, check=True)
        told = json.loads(done.stdout)
        by_file = {pathlib.Path(one["file"]).name: one["why"] for one in told["left_out"]}
        assert by_file["z.baseline"].startswith("it has more than 256 MiB"), by_file
        for name in large[1:]:
            node, file = name.split("/")
            assert file in by_file[node], (name, by_file)
        assert told["compared"] == 6 and len(done.stderr.splitlines()) == 5, (told["compared"], done.stderr)


def a_foreign_record_hides_no_node():
    """A second folder with the slow node's name, healthy values and a later time; and a copy of the slow one."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(12):
            values = drawn.draw_node(SERIES, i, drawn.Fault(0.1, ("gpu2",)) if i == 5 else None)
            drawn.write_folder(f"{folder}/n{i}", drawn.files(SERIES, f"n{i}", values, {}))
        drawn.write_folder(f"{folder}/copy", drawn.files(SERIES, "n5", drawn.draw_node(SERIES, 5, drawn.Fault(0.1, ("gpu2",))), {}))
        told, said = answer(folder)
        assert [slow["node"] for slow in told["slow"]] == ["n5"] and told["nodes"] == 12, told["slow"]
        assert f"{folder}/n5: it is a copy of {folder}/copy" in said, said
        healthy = drawn.files(SERIES, "n5", drawn.draw_node(SERIES, 77), {})
        later = healthy["measurements.jsonl"].replace(str(drawn.STARTED), str(drawn.STARTED + 1000))
        drawn.write_folder(f"{folder}/other", {**healthy, "measurements.jsonl": later})
        told, said = answer(folder)
        assert [slow["node"] for slow in told["slow"]] == [f"n5 ({folder}/copy)"] and told["nodes"] == 13, (told["nodes"], told["slow"], said)
        assert "n5: the node has 2 records; each is compared under its path" in said, said


def a_name_that_is_no_text_hides_no_node():
    """A slow node's folder and BIOS version in bytes that are UTF-8 by their leading bits alone."""
    bad = b"n\xc1\xa1\xed\xa0\x80\xf5\x80\x80\x80"
    with tempfile.TemporaryDirectory() as folder:
        for i in range(12):
            files = drawn.files(SERIES, f"n{i}", drawn.draw_node(SERIES, i, drawn.Fault(0.2, ("gpu2",)) if i == 5 else None), {})
            drawn.write_folder(f"{folder}/n{i}", files)
        told = json.loads(pathlib.Path(folder, "n5/node.json").read_text())
        del told["name"]
        pathlib.Path(folder, "n5/node.json").write_text(json.dumps(told))
        topology = pathlib.Path(folder, "n5/topology.xml")
        topology.write_bytes(topology.read_bytes().replace(b'value="1.0"', b'value="' + bad + b'"'))
        pathlib.Path(folder, "n5").rename(os.fsdecode(folder.encode() + b"/" + bad))
        told, said = answer(folder)
        (slow,) = told["slow"]
        assert slow["node"] == slow["conditions"]["bios"] == "n" + 9 * "?" and "gpu2" in (slow["worst"]["from"], slow["worst"]["to"]), (slow, said)
        status, text, said = fleet("--lines", folder)
        assert (status, said) == (0, "") and text.count("\n") == 12 * len(SERIES), (status, said)


def more_archives_than_open_files():
    """A tar for each node: as many as there are, whatever a process may keep open."""
    series = drawn.all_series(20)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(140):
            with tarfile.open(f"{folder}/n{i}.tar", "w") as tar:
                drawn.put_in_tar(tar, f"n{i}", drawn.files(series, f"n{i}", drawn.draw_node(series, i), {}))
        told, said = answer(folder)
        assert (told["nodes"], said) == (140, "")
        limited = subprocess.run(["sh", "-c", 'ulimit -n 120; exec "$@"', "sh", BIN / "berth", "--json", "fleet", folder], capture_output=True, text=True, check=True)
        assert (json.loads(limited.stdout), limited.stderr) == (told, ""), limited.stderr[:300]


def damaged_files_end_in_an_answer_or_one_line():
    """Archives and baselines with bytes changed, lost, moved and doubled: never a crash, and never a line that is too long."""
    draw, series = random.Random(1), drawn.all_series(40)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(f"{folder}/all.tar", "w") as tar:
            for i in range(7):
                drawn.put_in_tar(tar, f"n{i}", drawn.files(series, f"n{i}", drawn.draw_node(series, i), {"driver": str(i % 2)}))
                drawn.put_in_tar(tar, f"b{i}", {"x.baseline": drawn.baseline(series, f"b{i}", drawn.draw_node(series, i))})
        whole = pathlib.Path(folder, "all.tar").read_bytes()
        baseline = drawn.baseline(series, "b", drawn.draw_node(series, 1)).encode()
        for i in range(90):
            data = bytearray(baseline if i % 3 == 0 else whole)
            for _ in range(draw.choice((1, 3, 30, 300))):
                at, how = draw.randrange(len(data)), draw.random()
                if how < 0.5:
                    data[at] = draw.randrange(256)
                elif how < 0.7:
                    del data[at:at + draw.randrange(600)]
                elif how < 0.9:
                    other = draw.randrange(len(data))
                    data[at:at] = data[other:other + draw.randrange(600)]
                else:
                    data[at] = draw.choice(b'{}[],":0123456789-e.\n')
            path = pathlib.Path(folder, f"x{i}" + (".baseline" if i % 3 == 0 else ".tar"))
            path.write_bytes(data)
            for options in (("--why",), ("-o", "-"), ("--lines",)):
                done = subprocess.run([BIN / "berth", "fleet", *options, path], capture_output=True, timeout=60, check=False)
                said = done.stderr.decode()
                assert done.returncode in (0, 65) and all(line.startswith("berth: ") and len(line) < 1200 for line in said.splitlines()), (i, options, said)
            path.unlink()


def answers_fit_a_terminal():
    with tempfile.TemporaryDirectory() as folder:
        archive(f"{folder}/all.tar", lambda i: SLOW.get(f"n{i:04}") or (drawn.Fault(0.05) if i % 8 == 3 else None), 200,
                software=lambda i: {"driver": "580.95.05-open-kernel-module" if i % 8 == 3 else "570"})
        for more in ((), ("--why",)):
            status, lines = shown("fleet", *more, folder)
            assert status == 0 and max(map(len, lines)) <= WIDTH, (more, max(lines, key=len))
            assert more or len(lines) < 40, len(lines)
        # two records of a slow node, under a path that is wider than the terminal
        deep = f"{folder}/" + "/".join(("records-of-all-the-nodes-of-this-year",) * 2)
        for i in range(12):
            fault = drawn.Fault(0.1, ("gpu2",)) if i == 5 else None
            for day in (1, 2) if i == 5 else (1,):
                drawn.write_folder(f"{deep}/day{day}-n{i}", drawn.files(SERIES, f"n{i}", drawn.draw_node(SERIES, i * day, fault), {}))
        for more in ((), ("--why",)):
            status, lines = shown("fleet", *more, f"{deep}/..")
            answered = [line for line in lines if "warning: " not in line]
            assert status == 0 and max(map(len, answered)) <= WIDTH, (more, max(answered, key=len))
            assert any("day1-n5)" in line for line in answered) and any("day2-n5)" in line for line in answered), lines


def lines_for_a_data_lake():
    with tempfile.TemporaryDirectory() as folder:
        archive(f"{folder}/all.tar", SLOW, 20)
        status, text, said = fleet("--lines", folder)
        assert (status, said) == (0, "")
        lines = [json.loads(line) for line in text.splitlines()]
        assert len(lines) == 20 * len(SERIES), len(lines)
        assert {line["node"] for line in lines} == {f"n{i:04}" for i in range(20)}
        assert all(line["fingerprint"] == drawn.FINGERPRINT and line["time"] == drawn.STARTED for line in lines)
        assert lines[0]["conditions"] == {"driver": "570.1", "kernel": "6.8", "bios": "1.0"}
        mine = [line for line in lines if line["node"] == "n0003"]
        for line, value in zip(mine, drawn.draw_node(SERIES, 3)):
            assert abs(line["value"] / value - 1) < 1e-5 and line["low"] < line["value"] < line["high"]


if __name__ == "__main__":
    sys.exit(run_tests([the_slow_ones_are_named, a_loss_of_one_metric_names_its_gpu, healthy_nodes_are_not, class_values_are_medians, a_shared_condition_is_named, few_nodes_suffice, a_condition_of_many_divides_the_class,
                        hardware_is_not_mixed, recorded_nodes_have_their_fingerprint, a_new_node_is_judged_by_its_class, the_page_is_complete, hostile_files_are_left_out, large_files_are_left_out, a_foreign_record_hides_no_node,
                        a_name_that_is_no_text_hides_no_node, more_archives_than_open_files, damaged_files_end_in_an_answer_or_one_line, answers_fit_a_terminal, lines_for_a_data_lake]) > 0)
