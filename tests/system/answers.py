"""libberth and its C++ header against a daemon that sends anything: each reply of the interface files, and each with one member of it changed.

A sound reply is an answer, another one the error Protocol, and nothing ends the program. tests/system/every_call.cc asks.
"""
import contextlib
import copy
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import idl  # noqa: E402
from berthd import BIN, NODES, Daemon  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

PROGRAM = BIN.parent / "examples/every_call"
INTERFACES = {name: idl.Interface(text) for name, text in idl.files().items()}
LIBRARY = "".join(text for path in (HERE.parent.parent / "client/lib").glob("*.c") if "lib_ask(" in (text := path.read_text()))
METHODS = sorted(set(re.findall(r'"io\.berth\.(\w+\.\w+)"', LIBRARY)) - {"Placement.Report"})  # whose answer is thrown away
OTHERS = (None, True, 7, -7, 2**62, 1.5, "", "gpu0", [], [7], [[]], [{}], {}, {"a": 7}, {"a": "b"}, [None] * 200)
GONE = object()
# Members that the library does not give: any value will do.
LEFT_OUT = {"waits_for", "correction.by", "correction.reports", "Release.stored"}
# Integers that have a range of their own: the type of the structure, the ends of arrays.
RANGES = {"Bind.tasks.0.task": (-2**31, 2**31 - 1), "Release.released": (-2**31, 2**31 - 1), "explains": (0, 2**63), "below": (0, 1), "above": (0, 1)}


def split(method):
    """The interface and the type of the result."""
    owner, name = method.split(".")
    interface = INTERFACES[f"io.berth.{owner}"]
    return interface, interface.methods[name][1]


def sample(interface, type_):
    """A sound value with everything that may be there; arrays have two elements."""
    type_ = interface.resolve(type_)
    if type_.kind == "struct":
        return {name: sample(interface, field) for name, field in type_.names.items()}
    if type_.kind in ("array", "map"):
        element = sample(interface, type_.element)
        return [element, copy.deepcopy(element)] if type_.kind == "array" else {"a": element, "b": element}
    return {"bool": True, "int": 1, "float": 1.5, "string": "text", "enum": (type_.names or [None])[0], "object": {}}[type_.kind]


def places_in(interface, type_, value, path=()):
    """(path, its type) of each value in a value, in the first element of arrays."""
    if path:
        yield path, type_
    its = interface.resolve(type_)
    if its.kind == "struct":
        for name, field in its.names.items():
            yield from places_in(interface, field, value[name], (*path, name))
    elif its.kind in ("array", "map"):
        key = 0 if its.kind == "array" else "a"
        yield from places_in(interface, its.element, value[key], (*path, key))


def changed(value, path, new):
    value = copy.deepcopy(value)
    at = value
    for key in path[:-1]:
        at = at[key]
    if new is not GONE:
        at[path[-1]] = new
    elif isinstance(at, dict):
        del at[path[-1]]
    else:
        at.pop(path[-1])
    return value


def under(method, path, names):
    """The name among these that is the end of the path, or of a part of it."""
    words = [method.split(".")[1], *map(str, path)]
    return next((name for name in names for end in range(len(words), 0, -1) if words[:end][-len(name.split(".")):] == name.split(".")), None)


def is_sound(method, interface, path, type_, new):
    if under(method, path, LEFT_OUT):
        return True
    if method == "Placement.Claim" and path == ("claim",) and new in (None, GONE):
        return False  # of a call with more only
    its = interface.resolve(type_)
    if new is GONE:
        inside = isinstance(path[-1], int) or path[-1] in ("a", "b")  # one element less
        lists = its.kind == "map" or its.kind == "array" and interface.resolve(its.element).kind == "string" or path[-1] in ("warnings", "reasons")
        options = method == "Placement.Route" and path == ("options", 0)  # crossovers name it
        return not options and (inside or type_.nullable or lists)
    if new is None and not type_.nullable:
        return is_sound(method, interface, path, type_, GONE) and not isinstance(path[-1], int) and path[-1] not in ("a", "b")
    if new is None:
        return True
    if its.kind == "enum":
        return isinstance(new, str)  # a newer daemon's
    name = under(method, path, RANGES)
    if name and isinstance(new, int) and not isinstance(new, bool):
        return RANGES[name][0] <= new <= RANGES[name][1]
    if method == "Placement.Route" and path == ("options",):
        return False
    if its.kind == "struct" and isinstance(new, dict):  # members of a newer daemon do no harm
        new = {key: value for key, value in new.items() if key in its.names}
    return interface.mismatch(type_, new) is None


def cases():
    """(method, words for a person, the reply, is it sound)."""
    for method in METHODS:
        interface, type_ = split(method)
        good = sample(interface, type_)
        yield method, "sound", good, True
        yield method, "with more", {**good, "of_a_newer_daemon": [[{}]]}, True
        for path, its in places_in(interface, type_, good):
            for new in (GONE, *OTHERS):
                words = ".".join(map(str, path)) + " " + ("left out" if new is GONE else json.dumps(new)[:40])
                yield method, words, changed(good, path, new), is_sound(method, interface, path, its, new)


class Hostile(threading.Thread):
    """Sends for each method these frames, one for a call."""

    def __init__(self, path, frames):
        super().__init__(daemon=True)
        self.frames = {method: iter(its) for method, its in frames.items()}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()

    def run(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError):
                self.serve(peer)

    def serve(self, peer):
        buffer = b""
        while data := peer.recv(1 << 16):
            buffer += data
            while b"\0" in buffer:
                request, buffer = buffer.split(b"\0", 1)
                frame = next(self.frames[json.loads(request)["method"]])
                peer.sendall(frame)
                if not frame.endswith(b"\0"):
                    return

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def ask(frames, limit=None):
    """Method to the outcomes of its calls, one for each frame. limit: bytes of memory that the program may have."""
    if not PROGRAM.exists():
        raise LeftOut("there is no C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        server = Hostile(f"{folder}/s", frames)
        server.start()
        lines = "".join(f"{method} {len(its)}\n" for method, its in frames.items())
        under = ["prlimit", f"--as={limit}"] if limit else []
        done = subprocess.run([*under, PROGRAM, f"{folder}/s"], input=lines, capture_output=True, text=True, timeout=300, check=False)
        server.close()
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stdout[-200:], done.stderr[-4000:])
    outcomes = {method: [] for method in frames}
    for line in done.stdout.splitlines():
        method, outcome = line.split(" ", 1)
        outcomes[method].append(outcome)
    return outcomes


def message(reply):
    return json.dumps({"parameters": reply}, separators=(",", ":")).encode() + b"\0"


def every_reply_with_one_change():
    frames, wanted = {}, {}
    for method, words, reply, sound in cases():
        name = f"io.berth.{method}"
        frames.setdefault(name, []).append(message(reply))
        wanted.setdefault(name, []).append((words, "done" if sound else "Protocol"))
    outcomes = ask(frames)
    wrong = [f"{method}: {words}: {got}, not {want}" for method, its in wanted.items()
             for (words, want), got in zip(its, outcomes[method], strict=True) if got != want]
    count = sum(map(len, frames.values()))
    refused = sum(want == "Protocol" for its in wanted.values() for _, want in its)
    print(f"# {count} replies, {refused} of them refused")
    assert not wrong, "\n".join(wrong[:40] + [f"{len(wrong)} of {count}"])
    assert count > 5000 and count // 4 < refused < count


def each_member_comes_from_its_namesake():
    """In C from the reply's member of that name, in C++ from the structure's: two of one type are not swapped."""
    in_c = re.findall(r"(?:\.|->)(\w+) =\s*(?:\(enum \w+\))?\s*(?:lib_)?read_\w+\(\s*&?read, \w+,\s*\"(\w+)\"", LIBRARY + (HERE.parent.parent / "client/lib/answer.c").read_text())
    assert len(in_c) > 150 and not (wrong := [pair for pair in in_c if pair[0] != pair[1]]), wrong
    header = (HERE.parent.parent / "client/lib/berth.hpp").read_text()
    in_cpp = [(name, member) for its in re.findall(r"explicit \w+\(const berth_\w+ &c\)\s*:(.*?)\n    \{", header, re.S)
              for name, value in re.findall(r"(\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", its) for member in re.findall(r"\bc\.(\w+)", value)]
    others = {("number", "task"), ("minor_number", "minor"), ("all", "curves"), ("all", "tunings"), ("in_force", "claims"), ("claim_info", "claim"),
              ("all", "curve_count"), ("all", "tuning_count"), ("in_force", "claim_count"), ("capacities", "capacity_count")}
    wrong = [pair for pair in in_cpp if pair[0] != pair[1] and pair not in others and not re.fullmatch(rf"{pair[0][:-1]}\w*_count", pair[1])]
    assert len(in_cpp) > 200 and not wrong, wrong


def replies_that_are_none():
    """Each ends its connection, or is an error; the program connects anew and goes on."""
    interface, type_ = split("Fabric.GetNode")
    good = sample(interface, type_)
    whole = message(good)
    bad = [b"", b"\0", b"{}\0", b"[]\0", b"null\0", whole[:-5], whole[:len(whole) // 2] + b"\0", whole[:-1], b'{"parameters":7}\0',
           b'{"parameters":[]}\0', b'{"parameters":"x"}\0', b'{"error":7}\0', b'{"error":"x","parameters":7}\0', b'{"parameters":{"name":"\xff"}}\0',
           b'{"parameters":{"name":"\\ud800"}}\0', b'{"parameters":{"name":"a\\u0000b"}}\0', b"[" * 100_000 + b"\0", b"x" * 1_000_000,
           message({**good, "places": [0] * 300_000}), message({**good, "places": [{}] * 100_000}), message({**good, "places": [[]] * 100_000}),
           message({**good, "places": [good["places"][0]] * 20_000 + [7]}), message({**good, "software": {"a": [0] * 100_000}}), b'{"parameters":{"name":1e999}}\0']
    large = {**good, "places": [good["places"][0]] * 20_000, "disagreements": ["x"] * 100_000}
    frames = {"io.berth.Fabric.GetNode": [frame for one in bad for frame in (one, whole)] + [message(large), whole]}
    outcomes = ask(frames)["io.berth.Fabric.GetNode"]
    for frame, outcome, after in zip(bad, outcomes[::2], outcomes[1::2]):
        assert outcome != "done" and after == "done", (frame[:60], outcome, after)
    assert outcomes[-2:] == ["done", "done"], outcomes[-2:]


def large_replies_take_no_gigabytes():
    """64 MiB of small values would; long texts and many values are fine, and more than 64 MiB is an error as well."""
    if "san-" in str(BIN):
        raise LeftOut("sanitizers need more addresses than a limit leaves")
    interface, type_ = split("Fabric.GetNode")
    good = sample(interface, type_)
    whole = message(good)
    start, end = message({**good, "places": []}).split(b'"places":[')
    start += b'"places":['
    room = (64 << 20) - len(start) - len(end) - 8

    def full(item, most=room):
        return start + item * (most // len(item)) + item[:-1] + end

    bad = [full(b"0,"), full(b"{},"), full(b"{},", 6 << 20), full(b"0,", 8 << 20), b" " * (65 << 20)]
    fine = [message({**good, "name": '\\",[{' * 2_000_000}), message({**good, "disagreements": [""] * 1_500_000})]
    frames = {"io.berth.Fabric.GetNode": [frame for one in bad + fine for frame in (one, whole)]}
    outcomes = ask(frames, 1 << 30)["io.berth.Fabric.GetNode"]
    assert outcomes == ["Protocol", "done"] * len(bad) + ["done"] * 2 * len(fine), outcomes


def real_answers():
    """Of a daemon for a recorded node each is an answer."""
    if not PROGRAM.exists():
        raise LeftOut("there is no C++ compiler")
    for node in ("mi250x", "h200x4"):
        with Daemon("--node", NODES / node) as daemon:
            lines = "".join(f"io.berth.{method} 1\n" for method in METHODS)
            done = subprocess.run([PROGRAM, daemon.socket], input=lines, capture_output=True, text=True, timeout=120, check=True)
            assert done.stdout.splitlines() == [f"io.berth.{method} done" for method in METHODS] and not done.stderr, (node, done)


def things_that_end_by_themselves():
    """The map of a recorded node, and memory of this machine; each outlives its connection."""
    if not PROGRAM.exists():
        raise LeftOut("there is no C++ compiler")
    for what, arguments in (("map", ("--node", NODES / "h200x4")), ("alloc", ("--no-probe",))):
        with Daemon(*arguments) as daemon:
            done = subprocess.run([PROGRAM, daemon.socket], input=f"{what} 2\n", capture_output=True, text=True, timeout=120, check=False,
                                  env={**os.environ, "BERTH_SOCKET": daemon.socket})
            assert done.stdout == f"{what} done\n" * 2 and not done.stderr, (what, done)


if __name__ == "__main__":
    sys.exit(run_tests([every_reply_with_one_change, each_member_comes_from_its_namesake, replies_that_are_none, large_replies_take_no_gigabytes, real_answers, things_that_end_by_themselves]) != 0)
