"""Pictures of nodes and placements: every place and link is there, nothing covers anything.

Prints TAP.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, NODES  # noqa: E402
from service import Service  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = ["mi250x", "mi300a", "gh200-quad", "h200x4", "epyc-2s", "knl-like", "liar-kfd"]


def berth(*words):
    return subprocess.run([BIN / "berth", *words], capture_output=True, text=True, timeout=60)


def picture(node, *words):
    done = berth("--node", NODES / node, *(words or ["topo"]), "-o", "-")
    assert done.returncode == 0, (node, done.stderr)
    return ElementTree.fromstring(done.stdout)


def boxes(root, kind):
    found = [box for box in root.iter(SVG + "rect") if kind in box.get("class", "").split()]
    return [tuple(float(box.get(key)) for key in ("x", "y", "width", "height")) for box in found]


def texts(root):
    return [text.text or "" for text in root.iter(SVG + "text")]


def cover(a, b):
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def every_place_is_drawn_and_covers_no_other():
    for node in DRAWN:
        root = picture(node)
        places = json.loads(berth("--node", NODES / node, "--json", "topo").stdout)["places"]
        width, height = (float(root.get(key)) for key in ("width", "height"))
        for kind in ("package", "llc", "gpu", "nic"):
            drawn = boxes(root, kind)
            wanted = [place["name"] for place in places if place["kind"] == kind]
            some = [box for box in drawn if box[2] != 76] if kind == "gpu" else drawn  # the fabric's are 76 wide
            assert len(some) == len(wanted), (node, kind, wanted, some)
            for i, box in enumerate(drawn):
                assert 0 <= box[0] and box[0] + box[2] <= width and box[1] + box[3] <= height, (node, kind, box)
                assert not any(cover(box, other) for other in drawn[:i]), (node, kind, box)
        said = " ".join(texts(root))
        assert all(place["name"] in said for place in places if place["kind"] in ("gpu", "nic", "llc")), (node, said)


def links_have_their_rates():
    said = texts(picture("mi250x"))
    assert said.count("200") == 4 and said.count("50") == 6 and said.count("100") == 2, said
    assert "xgmi ×4, 4 links, 200 GB/s nominal" in said and said.count("36 GB/s nominal") == 8, said
    said = texts(picture("h200x4"))
    assert "1 switch" in said and "55.5 GB/s" in said, said  # measured: no word behind it
    assert said.count("397") == 4 and "nvlink ×18, 4 links, 478 GB/s nominal, slowest pair 397 GB/s measured" in said, said
    widths = {line.get("stroke-width") for line in picture("mi250x").iter(SVG + "line") if line.get("stroke-opacity")}
    assert len(widths) == 3, widths  # as wide as they are fast


def four_modules_are_a_square():
    at = sorted((round(x), round(y)) for x, y, width, _ in boxes(picture("gh200-quad"), "gpu") if width == 76)
    (a, b), (c, d) = (sorted({x for x, _ in at}), sorted({y for _, y in at}))
    assert len(at) == 4 and abs((b - a) - (d - c)) <= 1, at


def the_width_is_used():
    """The fabric stands right of a narrow host; below a wide one it is as wide."""
    for node in DRAWN:
        root = picture(node)
        host = max(x + width for x, _, width, _ in boxes(root, "package"))
        fabric = [x for x, _, width, _ in boxes(root, "gpu") if width == 76]
        if not fabric:
            continue
        assert min(fabric) > host if host < 1000 else max(fabric) > 0.6 * host, (node, host, fabric)
        assert max(host, max(fabric) + 76) > 0.6 * float(root.get("width")), node
    kinds = [text for text in texts(picture("mi250x")) if text.startswith("xgmi ")]
    assert [kind.split(",")[0] for kind in kinds] == ["xgmi ×4", "xgmi ×2", "xgmi ×1"], kinds  # the fastest first


def a_placement_is_painted():
    root = picture("mi250x", "bind", "-n", "2", "--host-bytes", "1G")
    said = texts(root)
    plan = json.loads(berth("--node", NODES / "mi250x", "--json", "bind", "-n", "2", "--host-bytes", "1G").stdout)
    for number, task in enumerate(plan["tasks"]):
        assert f"{task['gpus'][0]}, task {number}" in said, said
        assert len(boxes(root, f"t{number}")) == 8 + 1, number  # eight cores, and the list's colour
        assert any(text.startswith(f"task {number}: ") and text.endswith(f" memory {task['memory'][0]}") for text in said), said
    assert not boxes(root, "t2")


def a_nic_that_tasks_share_has_all_of_them():
    said = texts(picture("h200x4", "bind", "-n", "4"))
    assert "nic0, tasks 0-3" in said, said


def a_file_is_written_whole_or_not():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "node.svg"
        assert berth("--node", NODES / "mi250x", "topo", "-o", path).returncode == 0
        ElementTree.parse(path)
        done = berth("--node", NODES / "mi250x", "topo", "-o", folder + "/node.gif")
        assert done.returncode == 64 and done.stderr.count("\n") == 1 and ".svg, .png or .pdf" in done.stderr, done
        done = berth("--node", NODES / "mi250x", "topo", "-o", folder + "/none/node.svg")
        assert done.returncode not in (0, 64) and done.stderr.count("\n") == 1, done
        for suffix, begin in ((".png", b"\x89PNG"), (".pdf", b"%PDF")):
            path = pathlib.Path(folder) / ("node" + suffix)
            done = berth("--node", NODES / "mi250x", "topo", "-o", path)
            if shutil.which("rsvg-convert") is None:
                assert done.returncode == 65 and "librsvg2-bin" in done.stderr and not path.exists(), done
            else:
                assert done.returncode == 0 and path.read_bytes().startswith(begin), done
            done = berth("--node", NODES / "mi250x", "topo", "-o", folder + "/none/node" + suffix)
            assert done.returncode not in (0, 64) and done.stderr.count("\n") == 1, done
    if shutil.which("rsvg-convert") is None:
        raise LeftOut("rsvg-convert is not here: .png and .pdf were refused as they should be")


def picture_of_reply(places, links=()):
    """The picture of a daemon's reply with these places and links, which may be anything."""
    reply = json.dumps({"parameters": {"name": "n", "places": places, "links": [*links]}})
    with Service(lambda _: [reply.encode() + b"\0"]) as service:
        done = berth("--socket", service.path, "topo", "-o", "-")
    assert done.returncode == 0, done.stderr
    return ElementTree.fromstring(done.stdout)


def no_name_makes_it_unreadable():
    """XML forbids some characters, escaped or not."""
    for name in ("gpu\ufffe", "gpu\uffff", "gpu\x1b", "gpu<b>&\"'"):
        root = picture_of_reply([{"name": "machine0", "kind": "machine"}, {"name": name, "kind": "gpu", "parent": "machine0", "model": name, "pci": name}])
        assert len(boxes(root, "gpu")) == 1 and any(text.startswith("gpu") for text in texts(root)), name


def a_slow_link_is_marked():
    """It has less than 80 % of another of its kind and width, as measured; a nominal rate tells nothing."""
    places = [{"name": "machine0", "kind": "machine"}, *({"name": f"gpu{i}", "kind": "gpu", "parent": "machine0"} for i in range(4))]
    for slow, marked in ((22.8e9, 1), (62e9, 0), (None, 0)):
        links = [{"from": f"gpu{a}", "to": f"gpu{b}", "kind": "xgmi", "width": 2, "nominal_bytes_per_s": 1e10, "measured_bytes_per_s": rate, "state": "up"}
                 for a, b, rate in ((0, 1, 76e9), (1, 2, 76e9), (2, 3, slow))]
        root = picture_of_reply(places, links)
        assert (len(boxes(root, "slow")), len(boxes(root, "tag"))) == (marked, 3 - marked), (slow, texts(root))
    places.insert(1, {"name": "numa0", "kind": "numa", "parent": "machine0", "cpus": "0-3"})
    for slow, marked in ((27.7e9, 1), (55e9, 0)):  # a link with the host, too, of another width
        links = [{"from": f"gpu{i}", "to": "numa0", "kind": "pcie", "width": 8 if i == 3 else 16, "nominal_bytes_per_s": 6e10, "measured_bytes_per_s": slow if i == 3 else 55e9, "state": "up"} for i in range(4)]
        assert len(boxes(picture_of_reply([*places[:2], *({**place, "parent": "numa0"} for place in places[2:])], links), "slow")) == marked, slow


def every_core_of_a_large_memory_is_drawn():
    cores = 512
    places = [{"name": "machine0", "kind": "machine"}, {"name": "numa0", "kind": "numa", "parent": "machine0", "cpus": f"0-{cores - 1}"}]
    places += [{"name": f"core{core}", "kind": "core", "parent": "numa0"} for core in range(cores)]
    assert len(boxes(picture_of_reply(places), "core")) == cores


if __name__ == "__main__":
    sys.exit(run_tests([every_place_is_drawn_and_covers_no_other, links_have_their_rates, four_modules_are_a_square, the_width_is_used, a_placement_is_painted, a_nic_that_tasks_share_has_all_of_them, no_name_makes_it_unreadable, a_slow_link_is_marked, every_core_of_a_large_memory_is_drawn,
                        a_file_is_written_whole_or_not]) > 0)
