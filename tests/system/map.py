"""io.berth.Fabric.Map: what programs map and what they can do with it, and docs/examples/map.c.

Prints TAP.
"""
import array
import contextlib
import fcntl
import json
import mmap
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import termios
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, NODES, RUN, Daemon, fake_probe  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

MAP = "io.berth.Fabric.Map"
SHRINK, GROW, WRITE, FUTURE_WRITE = 2, 4, 8, 16  # seals
PROBE = f"""n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) > "$0.n"
echo '{RUN}' | sed "s/1790000000/$(date +%s)/"
echo '{{"record":"value","metric":"memory_bandwidth","from":"numa0","to":"numa0","axes":{{"threads":"1"}},"value":'$((n + 1))'e10,"n":9}}'
echo '{{"record":"end","status":"complete","elapsed_ns":1}}'
"""


class Caller:
    """A connection that takes the files of a reply."""

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(daemon.socket)
        self.socket.settimeout(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, times=1, **flags):
        self.socket.sendall(times * (json.dumps({"method": MAP, **flags}).encode() + b"\0"))

    def receive(self):
        """A reply and its files."""
        data, files = b"", array.array("i")
        while not data.endswith(b"\0"):
            part, ancillary, flags, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(8 * 4))
            assert part and not flags & socket.MSG_CTRUNC
            data += part
            for _, _, content in ancillary:
                files.frombytes(content)
        assert data.count(b"\0") == 1, data
        return json.loads(data[:-1]), list(files)

    def map(self):
        """The parameters, the map's file and the page's; the caller closes both."""
        self.send()
        reply, files = self.receive()
        assert "error" not in reply and len(files) == 2, (reply, files)
        return reply["parameters"], files[reply["parameters"]["map"]], files[reply["parameters"]["page"]]


def maps_of(daemon):
    """How many maps the daemon has open, and how many files."""
    folder = f"/proc/{daemon.process.pid}/fd"
    targets = []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            targets.append(os.readlink(f"{folder}/{name}"))
    return sum("berth-map" in target for target in targets), len(targets)


def close(*files):
    for file in files:
        os.close(file)


def refused(action):
    try:
        action()
    except (OSError, ValueError):
        return True
    return False


def nobody_can_change_the_files():
    with Daemon("--node", NODES / "h200x4") as daemon, Caller(daemon) as caller:
        assert maps_of(daemon)[0] == 0
        reply, file, page = caller.map()
        assert os.fstat(file).st_size == reply["bytes"] and reply["layout"] == 1 and reply["basis"]["origin"] == "recorded", reply
        seals = fcntl.fcntl(file, fcntl.F_GET_SEALS)
        assert seals & SHRINK and seals & GROW and seals & WRITE, seals
        seals = fcntl.fcntl(page, fcntl.F_GET_SEALS)
        assert seals & SHRINK and seals & GROW and seals & FUTURE_WRITE, seals
        for sealed in (file, page):
            again = os.open(f"/proc/self/fd/{sealed}", os.O_RDWR)
            assert refused(lambda: os.write(again, b"x")) and refused(lambda: os.truncate(again, 8)) and refused(lambda: os.truncate(again, 1 << 20))
            assert refused(lambda: mmap.mmap(again, 4096))
            close(again)
            with mmap.mmap(sealed, 0, prot=mmap.PROT_READ) as view:
                assert view[:8] == b"berthmap"
        with mmap.mmap(page, 0, prot=mmap.PROT_READ) as view:  # two words, and no address of the daemon's memory
            assert not any(view[20:]), view[:128]
        close(file, page)


def a_thousand_calls_get_one_file():
    with Daemon("--node", NODES / "h200x4") as daemon, Caller(daemon) as caller:
        seen, files = set(), 0
        for i in range(1000):
            reply, file, page = caller.map()
            seen.add((os.fstat(file).st_ino, os.fstat(page).st_ino, reply["generation"]))
            close(file, page)
            files = files or maps_of(daemon)[1]
        assert len(seen) == 1, seen
        assert maps_of(daemon)[0] == 1 and maps_of(daemon)[1] < files + 20, (files, maps_of(daemon))


def who_does_not_read_gets_one():
    with Daemon("--node", NODES / "h200x4") as daemon, Caller(daemon) as caller:
        close(*caller.map()[1:])
        before = maps_of(daemon)
        caller.send(times=1000)
        with Connection(daemon.socket) as other:
            for _ in range(20):  # others are served meanwhile
                assert other.call("io.berth.Fabric.GetStatus")[0] is None
        assert maps_of(daemon)[0] == 1 and maps_of(daemon)[1] < before[1] + 20, (before, maps_of(daemon))
        end = time.monotonic() + 30
        while int.from_bytes(fcntl.ioctl(caller.socket, termios.FIONREAD, bytes(4)), sys.byteorder) < 2000:  # some of the replies, and no more than one has files
            assert time.monotonic() < end
            time.sleep(0.01)
        left, data, passed, errors = 1000, b"", 0, []
        while left > 0:
            part, ancillary, _, _ = caller.socket.recvmsg(65536, socket.CMSG_SPACE(8 * 4))
            for _, _, content in ancillary:
                files = array.array("i", content)
                passed += len(files)
                close(*files)
            data += part
            *messages, data = data.split(b"\0")
            left -= len(messages)
            errors += [reply for reply in map(json.loads, messages) if "error" in reply]
        assert all(reply["error"] == "io.berth.Fabric.Unavailable" and "read them first" in reply["parameters"]["detail"] for reply in errors) and errors, errors[:2]
        assert passed == 2 * (1000 - len(errors)) > 0, (passed, len(errors))
        close(*caller.map()[1:])
        caller.send(oneway=True)
        close(*caller.map()[1:])


def many_may_be_the_first():
    with Daemon("--node", NODES / "mi250x") as daemon, contextlib.ExitStack() as stack:
        callers = [stack.enter_context(Caller(daemon)) for _ in range(20)]
        for caller in callers:
            caller.send()
        contents = set()
        for caller in callers:
            reply, files = caller.receive()
            assert len(files) == 2, reply
            with mmap.mmap(files[0], 0, prot=mmap.PROT_READ) as view:
                contents.add(bytes(view))
            close(*files)
        assert len(contents) == 1
        end = time.monotonic() + 30
        while maps_of(daemon)[0] != 1:  # each caller's own one is closed behind its reply
            assert time.monotonic() < end, maps_of(daemon)
            time.sleep(0.01)


class Program:
    """docs/examples/map.c."""

    def __init__(self, daemon):
        self.process = subprocess.Popen([BIN.parent / "examples/map"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "BERTH_SOCKET": daemon.socket})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, question, lines=1):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return [self.process.stdout.readline().rstrip("\n") for _ in range(lines)]


def a_program_gets_what_route_and_allocate_say():
    with Daemon("--node", NODES / "h200x4") as daemon, Program(daemon) as program:
        snapshot = daemon.status()["basis"]["snapshot"]
        for i, (start, end, size) in enumerate([("gpu0", "gpu1", 1 << 26), ("numa0", "gpu0", 1 << 20), ("gpu3", "gpu1", 12345)]):
            told = program.ask(f"{start} {end} {size}", 1 if i else 2)
            assert i or told[0] == f"snapshot {snapshot}", told
            options = daemon.call("io.berth.Placement.Route", {"from": start, "to": end, "bytes": size})["options"]
            direct = {option["segments"][0]["mechanism"]: option["predicted"]["time_ns"] for option in options if len(option["segments"]) == 1 and not option["segments"][0]["via"]}
            found = re.fullmatch(rf"{start} to {end}: (\d+) ns by (\w+)", told[-1])
            assert found and abs(int(found[1]) / direct[found[2]] - 1) < 0.002, (told, direct)
        assert program.ask("gpu0 gpu0 4096") == ["gpu0 to gpu0: unknown"]
        assert program.ask("gpu0 gpu77 4096") == ["gpu0 to gpu77: unknown"]
        for place, kind in (("gpu0", "pinned"), ("gpu3", "device"), ("core0", "system"), ("core0", "device")):
            request = {"bytes": 1 << 26, "kinds": [kind], "accesses": [{"by": place, "reads_bytes": 1 << 26, "writes_bytes": 0, "pattern": "stream"}]}
            with Connection(daemon.socket) as connection:
                error, reply = connection.call("io.berth.Placement.Allocate", request)
            memory = "none" if error else reply["options"][0]["memory"]
            assert program.ask(f"{place} {kind}") == [f"{place} {kind}: {memory}"], (place, kind, memory)


def a_program_follows_measurements_and_outlives_the_daemon():
    with fake_probe(PROBE) as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
        daemon.wait_ready()
        with Program(daemon) as program, Caller(daemon) as caller:
            first, memory = program.ask("core0 system", 2)
            assert first == "snapshot " + daemon.status()["basis"]["snapshot"] and re.fullmatch(r"core0 system: numa\d+", memory), (first, memory)
            assert program.ask("core0 system") == [memory]
            reply, file, page = caller.map()
            daemon.call("io.berth.Health.Probe")
            assert maps_of(daemon)[0] == 0  # the old one is closed
            second, again = program.ask("core0 system", 2)
            assert second == "snapshot " + daemon.status()["basis"]["snapshot"] != first and again == memory, (second, again)
            newer, *files = caller.map()
            assert newer["generation"] > reply["generation"] and os.fstat(files[0]).st_ino != os.fstat(file).st_ino and os.fstat(files[1]).st_ino == os.fstat(page).st_ino
            daemon.stop(signal.SIGKILL)
            gone = program.ask("core0 system", 2)
            assert "the old map goes on" in gone[0] and gone[1] == memory, gone
            with mmap.mmap(file, 0, prot=mmap.PROT_READ) as view:
                assert view[:8] == b"berthmap"
            close(file, page, *files)


def a_program_sees_a_daemon_that_ends():
    with Daemon("--node", NODES / "h200x4") as daemon, Program(daemon) as program:
        _, memory = program.ask("gpu0 device", 2)
        daemon.stop()
        gone = program.ask("gpu0 device", 2)
        assert "the old map goes on" in gone[0] and gone[1] == memory, gone


if __name__ == "__main__":
    sys.exit(run_tests([nobody_can_change_the_files, a_thousand_calls_get_one_file, who_does_not_read_gets_one, many_may_be_the_first,
                        a_program_gets_what_route_and_allocate_say, a_program_follows_measurements_and_outlives_the_daemon,
                        a_program_sees_a_daemon_that_ends]) > 0)
