"""berth top in a pseudo-terminal: its views, keys and ends.

Prints TAP.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, NODES, Daemon  # noqa: E402
from service import Service  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import call  # noqa: E402


class Terminal:
    """berth top in a terminal of so many rows and columns."""
    def __init__(self, socket, rows=24, columns=80, kind="xterm"):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([BIN / "berth", "--socket", socket, "top"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env={"TERM": kind, "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})
        os.close(slave)

    def until(self, *words):
        """Reads until all words were drawn since the last call."""
        text, end = "", time.monotonic() + 20
        while not all(word in text for word in words):
            assert time.monotonic() < end, (words, text)
            if select.select([self.master], [], [], 0.2)[0]:
                raw = os.read(self.master, 65536).decode(errors="replace")
                text += re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])", " ", raw)
        return text

    def key(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """Ends by a key before, or because nobody has the terminal any more."""
        try:
            return self.process.wait(2)
        except subprocess.TimeoutExpired:
            os.close(self.master)
            self.master = -1
            return self.process.wait(10)
        finally:
            if self.master >= 0:
                os.close(self.master)


def is_built():
    if not (BIN / "berth-top").exists():
        raise LeftOut("berth-top is not built: ncurses is not here")


def views_and_keys():
    is_built()
    with Daemon("--node", NODES / "h200x4") as daemon:
        top = Terminal(daemon.socket)
        top.until("h200x4", "healthy: ", "measured last 20", "store ", "numa0", "gpu3", "H200", "nic0    eth0", "cpus 0-63", "L3 0-63", "q quit")
        top.key("v")
        top.until("cpu_pingpong", "gpu_gpu_copy_engine", "397 GB/s")
        top.key("h")
        top.until("no findings")
        top.key("v")
        top.until("cpu_pingpong")
        top.key("\n")
        top.until("expected")
        top.key("q")
        assert top.end() == 0


def a_claim_is_seen():
    is_built()
    with Daemon("--node", NODES / "h200x4") as daemon:
        top = Terminal(daemon.socket)
        top.until("gpu3")
        number = subprocess.run([BIN / "berth", "--socket", daemon.socket, "claim", "gpu1", "--ttl", "60", "-q"], capture_output=True, text=True, check=True)
        text = top.until("claim " + number.stdout.strip() + " until ", "waits for claim " + number.stdout.strip())
        assert re.search(r"claim \w+ until \d\d:\d\d ", text), text  # the hour, not a date that is cut at the edge
        number = subprocess.run([BIN / "berth", "--socket", daemon.socket, "claim", "core7", "--ttl", "60", "-q"], capture_output=True, text=True, check=True)
        row = "core7: claim " + number.stdout.strip() + " until "
        text = top.until(row)
        if not re.search(row + r"\d\d:\d\d", text):  # the rest of it comes with the next reads
            text += top.until(":")
        assert re.search(row + r"\d\d:\d\d", text), text  # of an L3, whole in 80 columns
        top.key("q")
        assert top.end() == 0


def a_terminal_that_is_gone_ends_it():
    is_built()
    with Daemon("--node", NODES / "h200x4") as daemon:
        top = Terminal(daemon.socket)
        top.until("gpu3")
        assert top.end() in (0, 1), "it goes on without a terminal"


def a_terminal_that_cannot_move_its_cursor_is_refused():
    is_built()
    with Daemon("--node", NODES / "h200x4") as daemon:
        top = Terminal(daemon.socket, kind="dumb")
        top.until("berth: top: this terminal (TERM=dumb) cannot move its cursor")
        assert top.end() == 64


def a_small_terminal_is_no_crash():
    is_built()
    with Daemon("--node", NODES / "mi250x") as daemon:
        top = Terminal(daemon.socket, 5, 20)
        top.until("mi250x")
        for key in "vhn\nvq":
            top.key(key)
        assert top.end() == 0


class Liar:
    """Replies of a daemon, some of them altered."""
    def __init__(self, daemon, alter):
        self.daemon, self.alter = daemon, alter

    def __call__(self, message):
        error, reply = call(self.daemon.socket, message["method"], message.get("parameters"))
        if error:
            return [json.dumps({"error": error, "parameters": reply}).encode() + b"\0"]
        self.alter(message["method"].rpartition(".")[2], reply)
        return [json.dumps({"parameters": reply}).encode() + b"\0"]


def values_beyond_each_other_are_no_crash():
    is_built()

    def alter(method, reply):
        if method == "History":
            reply["points"] = [{"measured_at_s": 1790000000 + i, "value": value} for i, value in enumerate((1.7e308, -1.7e308, 1.0, 0.0))]
    with Daemon("--node", NODES / "h200x4") as daemon, Service(Liar(daemon, alter)) as service:
        top = Terminal(service.path)
        top.until("gpu3")
        top.key("v")
        top.until("cpu_pingpong")
        top.key("\n")
        top.until("4 points")
        top.key("q")
        assert top.end() == 0


def a_long_sentence_is_there_whole():
    """No row runs into the next one, where the next line would cover its beginning alone."""
    is_built()
    words = " ".join(f"word{i}" for i in range(30))

    def alter(method, reply):
        if method == "Check":
            reply["findings"] = [{"severity": "warning", "place": "gpu0", "code": "probe-failed", "text": words, "value": 1, "expected": 2, "unit": "ns", "slow": [], "explains": 0,
                                  "action": "run the probe by hand", "commands": ["journalctl -u berthd"]}]
            reply["unconfirmed"] = [{**reply["findings"][0], "place": "gpu1", "text": "slow"}]
    with Daemon("--node", NODES / "h200x4") as daemon, Service(Liar(daemon, alter)) as service:
        top = Terminal(service.path, 24, 40)
        top.until("numa0")
        top.key("h")
        top.until("word29", "expected 2 ns", "do: run the probe by hand", "journalctl -u berthd", "seen once gpu1: slow; no finding yet")
        top.key("q")
        assert top.end() == 0


def what_it_cannot_do_is_one_line():
    is_built()
    with Daemon("--node", NODES / "mi250x") as daemon:
        for words, status in ((["--socket", daemon.socket, "top"], 64), (["--node", NODES / "mi250x", "top"], 64), (["--json", "top"], 64)):
            done = subprocess.run([BIN / "berth", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            assert done.returncode == status and done.stderr.count("\n") == 1, done
        gone = daemon.socket
    top = Terminal(gone)
    top.until("berth: top: ")
    assert top.end() == 69


if __name__ == "__main__":
    sys.exit(run_tests([views_and_keys, a_claim_is_seen, a_terminal_that_is_gone_ends_it, a_terminal_that_cannot_move_its_cursor_is_refused, a_small_terminal_is_no_crash, values_beyond_each_other_are_no_crash, a_long_sentence_is_there_whole, what_it_cannot_do_is_one_line]) > 0)
