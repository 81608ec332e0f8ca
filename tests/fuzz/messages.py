"""Whole daemons and messages made from the interface files: each gets exactly one reply, or closes its connection where it is none, and the daemon lives. Prints TAP.

The same --seed sends the same messages in the same order; --seconds only says when to stop."""
import argparse
import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import select
import shlex
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import idl  # noqa: E402
from berthd import BIN, NODES, RUN, Daemon, fake_probe  # noqa: E402
from hostile import Maker, each_alone, encode, frames, mixture, put  # noqa: E402

LIVE = "this-machine"
NOBODY, BY_NOBODY = 65534, ("h200x4", "epyc-2s")  # nodes that an ordinary user asks, where this runs as root
NAMES = ("mi250x", "h200x4", "gh200-quad", "epyc-2s", LIVE)
VALUE = {"record": "value", "metric": "memory_latency", "from": "numa0", "to": "numa0", "value": 90.5, "low": 90, "high": 91, "n": 9}
PROBE = f"cat <<'end'\n{RUN}\n{json.dumps(VALUE)}\n" + '{"record":"end","status":"complete","elapsed_ns":1}\nend\n'
STREAMS = ("io.berth.Fabric.Watch", "io.berth.Fabric.GetStatus")  # which with more go on for ever
BATCH, BATCH_BYTES = 32, 1 << 18
REPORT = re.compile(r"ERROR: \w+Sanitizer|runtime error:|WARNING: \w+Sanitizer|ERROR SUMMARY: [1-9]|definitely lost: [1-9]")


class Wrong(Exception):
    """What a daemon did that it should not."""


class Peer:
    def __init__(self, path, patience):
        self.path, self.patience, self.buffer = path, patience, bytearray()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.setblocking(False)

    def exchange(self, data, count):
        """Sends data and takes count replies, or those until the end of the connection, with whether that came."""
        replies, sent, looked, end = [], 0, 0, time.monotonic() + self.patience
        while len(replies) < count:
            stop = self.buffer.find(b"\0", looked)
            if stop >= 0:
                replies.append(bytes(self.buffer[:stop]))
                del self.buffer[:stop + 1]
                looked = 0
                continue
            looked = len(self.buffer)
            readable, writable, _ = select.select([self.socket], [self.socket] if sent < len(data) else [], [], max(0, end - time.monotonic()))
            if not readable and not writable:
                raise Wrong(f"{len(replies)} replies of {count} within {self.patience} s")
            if writable:
                with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                    sent += self.socket.send(data[sent:sent + 65536])
            if readable:
                try:
                    piece = self.socket.recv(1 << 18)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    return replies, True
                self.buffer += piece
        return replies, False


class Target:
    """A daemon, what it serves, and one connection that is opened anew when it closes one."""

    def __init__(self, daemon, patience, user):
        self.daemon, self.patience, self.user, self.marks, self.sent, self.results = daemon, patience, user, 0, 0, 0
        daemon.directory.chmod(0o755)
        self.open()
        self.interfaces = {name: idl.Interface(self.ask("org.varlink.service.GetInterfaceDescription", interface=name)["description"])
                           for name in self.ask("org.varlink.service.GetInfo")["interfaces"]}
        self.places = [place["name"] for place in self.ask("io.berth.Fabric.GetNode")["places"]]
        self.metrics = [metric["name"] for metric in self.ask("io.berth.Fabric.ListMetrics")["metrics"]]
        shown = subprocess.run([BIN / "berthd", "--check-config", "--config", "/dev/null"], capture_output=True, text=True, check=True).stdout
        self.longest = int(re.search(r"^max_message_bytes = (\d+)$", shown, re.M)[1])

    def open(self):
        """As the user, which the kernel tells the daemon of the moment of connecting."""
        before = os.geteuid()
        try:
            if before == 0:
                os.seteuid(self.user)
            self.peer = Peer(self.daemon.socket, self.patience)
        finally:
            os.seteuid(before)

    def ask(self, method, **parameters):
        (reply,), _ = self.peer.exchange(json.dumps({"method": method, "parameters": parameters}).encode() + b"\0", 1)
        return json.loads(reply)["parameters"]

    def mark(self):
        """A call that nothing else is answered like, and its answer."""
        self.marks += 1
        name = f"mark{self.marks}"
        return json.dumps({"method": "org.varlink.service.GetInterfaceDescription", "parameters": {"interface": name}}).encode() + b"\0", {
            "error": "org.varlink.service.InterfaceNotFound", "parameters": {"interface": name}}

    def is_declared(self, message, text):
        """What is wrong with a reply, or None."""
        reply = json.loads(text)
        method = message.get("method") if isinstance(message, dict) else None
        interface, _, name = method.rpartition(".") if isinstance(method, str) else ("", "", "")
        own, service = self.interfaces.get(interface), self.interfaces["org.varlink.service"]
        if "error" in reply:
            scope, _, error = reply["error"].rpartition(".")
            if scope not in ("org.varlink.service", interface) or scope not in self.interfaces or error not in self.interfaces[scope].errors:
                return f"{reply['error']} is not declared"
            return self.interfaces[scope].mismatch(self.interfaces[scope].errors[error], reply["parameters"], error)
        if own is None or name not in own.methods:
            return "a result of no method"
        self.results += 1
        return (service if own is service else own).mismatch(own.methods[name][1], reply["parameters"], name)

    def all_answered(self, batch):
        """A batch of calls, each with a reply of its own."""
        mark, marked = self.mark()
        wanted = [(message, label) for message, label, data in batch if not (isinstance(message, dict) and message.get("oneway") is True)]
        replies, ended = self.peer.exchange(b"".join(data for *_, data in batch) + mark, len(wanted) + 1)
        if ended:
            at = wanted[len(replies)][1] if len(replies) < len(wanted) else "the last"
            raise Wrong(f"the connection ended after {len(replies)} replies of {len(wanted) + 1}, at {at}")
        for (message, label), text in zip(wanted, replies):
            if found := self.is_declared(message, text):
                raise Wrong(f"{label}: {found}: {text[:300]!r}")
        if json.loads(replies[-1]) != marked or self.peer.buffer:
            raise Wrong(f"{len(batch)} messages have other replies than one each: {replies[-1][:300]!r}")

    def closes(self, label, data):
        """What is no message ends its connection; one that is too long, or may have too many items, after an error."""
        replies, ended = self.peer.exchange(data, 2)
        told = [json.loads(reply)["parameters"]["parameter"] for reply in replies]
        if not ended or told not in ([[]] if len(data) <= 1024 else [["message"]] if len(data) > self.longest else [[], ["message"]]):
            raise Wrong(f"{label}: {len(replies)} replies, ended {ended}: {data[:300]!r}")
        self.open()

    def send(self, messages, until):
        """Sends them until that moment; what was under way when something goes wrong is kept."""
        batch, size = [], 0
        try:
            for message, label in messages:
                text, good = encode(shortened(message))
                data = text.encode("utf-8", "surrogateescape") + b"\0"
                if good and len(data) <= self.longest:
                    batch.append((message, label, data))
                    size += len(data)
                if batch and (not good or len(data) > self.longest or len(batch) == BATCH or size > BATCH_BYTES):
                    self.all_answered(batch)
                    self.sent += len(batch)
                    batch, size = [], 0
                if not good or len(data) > self.longest:
                    self.closes(label, data)
                    self.sent += 1
                if self.sent % 512 < BATCH:
                    self.release_claims()
                if time.monotonic() > until:
                    break
            if batch:
                self.all_answered(batch)
                self.sent += len(batch)
        except (Wrong, OSError, ValueError) as wrong:
            kept = pathlib.Path(tempfile.mkstemp(prefix="berth-messages-", suffix=".bin")[1])
            kept.write_bytes(b"".join(data for *_, data in batch) or data)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.daemon.process.wait(2)  # which writes its report
            raise Wrong(f"{wrong}; after {self.sent} messages; the last are in {kept}; exit status {self.daemon.process.poll()}: {self.said()}") from wrong

    def said(self):
        """The log, without what broken messages put there."""
        return "\n".join([line for line in self.daemon.said().splitlines() if "a message is no JSON" not in line][-60:])

    def release_claims(self):
        for claim in self.ask("io.berth.Placement.ListClaims")["claims"]:
            self.ask("io.berth.Placement.Release", claim=claim["claim"])

    def streams(self):
        """With more every method answers, and a caller that leaves in between hurts nobody."""
        for interface in self.interfaces.values():
            for name, (parameters, _) in interface.methods.items():
                method = f"{interface.name}.{name}"
                maker = Maker(self.interfaces, self.places, self.metrics, random.Random(1))
                message = {"method": method, "parameters": maker.sound(interface, parameters), "more": True}
                self.open()
                while True:
                    replies, ended = self.peer.exchange(json.dumps(message).encode() + b"\0" if message else b"", 1)
                    if ended:
                        raise Wrong(f"{method} with more: the connection ended")
                    message = None
                    if not json.loads(replies[0]).get("continues") or method in STREAMS:
                        break
        self.open()

    def ends(self):
        """It still answers, exits as it should, and no checker has said anything."""
        status = self.ask("io.berth.Fabric.GetStatus")
        if status["state"] not in ("ready", "probing"):
            raise Wrong(f"GetStatus: {status}")
        code, _ = self.daemon.stop()
        if code != 0 or REPORT.search(self.daemon.said()):
            raise Wrong(f"it exits with {code}: {self.said()}")


def shortened(message):
    """A claim that waits for a second at most: others may hold its gpus for longer than this test takes."""
    parameters = message.get("parameters") if isinstance(message, dict) else None
    if isinstance(parameters, dict) and type(parameters.get("wait_s")) is int and 1 < parameters["wait_s"] <= 86400:
        return {**message, "parameters": {**parameters, "wait_s": 1}}
    return message


def at_length(maker, interface, unit, number, name, type_):
    """What a limit of that unit counts, so many times."""
    if unit == "ITEMS" and type_.kind == "map":
        return {f"a{count}": "1" for count in range(number)}
    return {"VALUE": lambda: number, "BYTES": lambda: "k" * number, "ITEMS": lambda: [maker.sound(interface, type_.element, name)] * number}[unit]()


def keeps_limits(target, maker):
    """One more than each row of schema/limits.def allows is refused by its name, and what it allows is not refused so."""
    met = set()
    for interface in target.interfaces.values():
        for method, (parameters, _) in interface.methods.items():
            for path, owner, name, type_ in maker.positions(interface, f"{interface.name}.{method}", parameters):
                if (owner, name) not in maker.limits or isinstance(path[-1], int):
                    continue
                unit, least, most = maker.limits[owner, name]
                base = {key: maker.given(interface, field, key, None) for key, field in parameters.names.items() if key == path[0] or not field.nullable}
                told = {}
                for number in (most, most + 1, *((least - 1,) if unit == "VALUE" else ())):
                    call = put(base, path, at_length(maker, interface, unit, number, name, interface.resolve(type_)))
                    data = json.dumps({"method": f"{interface.name}.{method}", "parameters": call}).encode() + b"\0"
                    if len(data) > target.longest:
                        break  # so long is no message
                    (reply,), _ = target.peer.exchange(data, 1)
                    reply = json.loads(reply)
                    told[number] = reply.get("error"), reply["parameters"].get("parameter", "").split(".")[-1], re.sub(r"-?\d+", "N", reply["parameters"].get("detail") or "")
                else:
                    for number in set(told) - {most}:
                        if told[number][:2] != ("org.varlink.service.InvalidParameter", name) or told[number] == told[most]:
                            raise Wrong(f"{method} {'.'.join(map(str, path))} at {number}: {told}")
                met.add((owner, name))
        target.release_claims()
    if set(maker.limits) != met:
        raise Wrong(f"schema/limits.def has {set(maker.limits) - met}, which no method has")


def served(name, stack, under):
    if name != LIVE:
        return Daemon("--node", NODES / name if (NODES / name).is_dir() else name, under=under)
    folder = stack.enter_context(fake_probe(PROBE))
    return Daemon("--no-probe", config=f"probe_dir = {folder}\n", under=under)


def try_node(name, options):
    chance = random.Random(f"{options.seed} {name}")
    with contextlib.ExitStack() as stack:
        target = Target(stack.enter_context(served(name, stack, shlex.split(options.under))), options.patience, NOBODY if pathlib.Path(name).name in BY_NOBODY else 0)
        if {interface: text.strip() for interface, text in idl.files().items()} != {
                interface: target.ask("org.varlink.service.GetInterfaceDescription", interface=interface)["description"].strip() for interface in target.interfaces}:
            raise Wrong("the daemon serves other interface files than these")
        maker = Maker(target.interfaces, target.places, target.metrics, chance)
        target.streams()
        if name == LIVE:
            keeps_limits(target, maker)
        alone = [*each_alone(maker), *frames(maker)]
        chance.shuffle(alone)
        target.send(itertools.chain(itertools.islice(mixture(maker), options.mixed), alone, mixture(maker) if options.for_ever else ()), time.monotonic() + options.seconds / len(options.nodes))
        target.ends()
        print(f"# {name}: {target.sent} messages, {target.results} results; {len(alone)} of them alone", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", time.time_ns() % 10**6)))
    parser.add_argument("--seconds", type=float, default=60, help="of sending, for all nodes together")
    parser.add_argument("--mixed", type=int, default=1000, help="random messages before those with one bad value")
    parser.add_argument("--for-ever", action="store_true", help="go on with random ones until the time is over")
    parser.add_argument("--under", default="", help="what the daemon is run by, such as valgrind")
    parser.add_argument("--patience", type=float, default=60, help="seconds that replies may take")
    parser.add_argument("nodes", nargs="*", default=NAMES)
    options = parser.parse_args()
    print(f"# --seed {options.seed}", flush=True)
    failed = 0
    for number, name in enumerate(options.nodes, 1):
        try:
            try_node(name, options)
            print(f"ok {number} - messages to {name}")
        except (Wrong, AssertionError) as wrong:
            failed += 1
            print(f"not ok {number} - messages to {name}")
            print(*(f"# {line}" for line in f"--seed {options.seed}: {wrong}".splitlines()), sep="\n", flush=True)
    print(f"1..{len(options.nodes)}")
    return failed


if __name__ == "__main__":
    os.environ.pop("BERTH_SOCKET", None)
    sys.exit(1 if main() else 0)
