"""Peers in place of the daemon that answer wrongly, late or not at all."""
import asyncio
import contextlib
import json
import os
import re
import signal
import threading

import berth
import pytest
from berth import _wire, aio
from service import Service

STATUS = {"state": "ready", "version": "9", "started_at_s": 1, "store": "ok", "clients": 1,
          "problems": [], "basis": {"snapshot": "1", "claims": "0", "origin": "live"}}


def message(reply):
    return json.dumps(reply).encode() + b"\0"


def status(**changes):
    return message({"parameters": {**STATUS, **changes}})


BROKEN = {  # what one answer is, and a part of the line about it
    "no JSON": (b"{\0", "no JSON"), "nothing": (b"\0", "no JSON"), "UTF-8": (b"\xff\0", "no JSON"),
    "NaN": (b'{"parameters": NaN}\0', "no JSON"), "an array": (b"[]\0", "no object"),
    "half a pair": (status(version="\ud800"), "no JSON"), "NUL": (status(version="a\0b"), "no JSON"),
    "NUL in a key": (status(**{"a\0b": 1}), "no JSON"), "NUL in an array": (status(problems=["\0"]), "no JSON"),
    "nested": (b"[" * 200000 + b"\0", "nested too deeply"),
    "long number": (b'{"parameters":{"clients":' + b"9" * 5000 + b"}}\0", ""),
    "parameters": (message({"parameters": 1}), "wrong types"),
    "error": (message({"error": 1}), "wrong types"),
    "continues": (message({"parameters": STATUS, "continues": 1}), "wrong types"),
    "more": (message({"parameters": STATUS, "continues": True}), "more answers"),
    "no fields": (message({}), "no string in state"), "a number": (status(state=1), "string in state"),
    "a bool": (status(clients=True), "int in clients"), "a float": (status(clients=1.5), "int in clients"),
    "2^63": (status(clients=1 << 63), "int in clients"),
    "infinite": (status(progress=1).replace(b'"progress": 1', b'"progress": 1e999'), "float in progress"),
    "huge": (status(progress=10 ** 400), "float in progress"),
    "deep inside": (status(problems=["", {}]), r"string in problems\[1\]"),
    "no array": (status(problems={}), "array in problems"),
    "no object": (status(basis=[]), "object in basis"),
    "inside": (status(basis={"snapshot": "1", "claims": None}), r"string in basis\.claims"),
}


def ask_both(path, timeout=20.0):
    """Asks for the status with and without asyncio; gives both results or errors."""
    async def wait():
        async with aio.Client(path, timeout=timeout) as client:
            return await client.status()
    found = []
    for ask in (lambda: berth.Client(path, timeout=timeout).status(), lambda: asyncio.run(wait())):
        try:
            found.append(ask())
        except Exception as error:
            found.append(error)
    return found


@pytest.mark.parametrize("reply, says", BROKEN.values(), ids=BROKEN)
def test_broken_answers(reply, says):
    with Service(lambda call: [reply]) as service:
        for error in ask_both(service.path):
            assert type(error) is berth.BadReply and re.search(says, str(error)), error
            assert "\n" not in str(error) and len(str(error)) < 500


@pytest.mark.parametrize("size, fits", ((4096, True), (4097, False), (1 << 20, False)))
def test_longest_answer(monkeypatch, size, fits):
    monkeypatch.setattr(_wire, "MESSAGE_MOST", 4096)
    reply = status(version="v" * (size - len(status(version=""))))
    assert len(reply) == size
    for sent in (reply, reply[:-1]):  # the second never ends
        with Service(lambda call: [sent, None]) as service:
            wanted = berth.GetStatusReply if fits and sent is reply else \
                berth.Closed if fits else berth.BadReply
            assert [type(found) for found in ask_both(service.path)] == [wanted] * 2


def test_most_values(monkeypatch):
    """A value of 3 bytes takes 60 in memory. Commas and brackets in texts are no values."""
    texts = ["{[,\\", ',\"' * 100, ","]
    most = sum(status(unknown=[]).count(mark) for mark in (b",", b"[", b"{")) + 2 * 2 + len(texts) - 1
    monkeypatch.setattr(_wire, "VALUES_MOST", most)
    for count, fits in ((2, True), (3, False), (100000, False)):  # of two marks each
        extra = status(unknown=[[]] * count + texts)
        with Service(lambda call: [extra]) as service:
            for found in ask_both(service.path):
                assert type(found) is (berth.GetStatusReply if fits else berth.BadReply), (count, found)
                assert fits or "more than" in str(found)


def test_answer_that_does_not_fit(monkeypatch):
    def fail(*_, **__):
        raise MemoryError
    with monkeypatch.context() as patch:
        patch.setattr(_wire.json, "loads", fail)
        with pytest.raises(berth.BadReply, match="does not fit into memory"):
            _wire.read(status()[:-1], {})


def test_newer_daemons():
    """Fields, values of enums and errors that this version does not know."""
    newer = status(state="resting", moon="full", basis={**STATUS["basis"], "tide": 1})
    with Service(lambda call: [newer]) as service:
        for found in ask_both(service.path):
            assert found.state == "resting" and found.basis.snapshot == "1"
    reply = message({"error": "io.berth.Moon.Full", "parameters": {"at": 3}})
    with Service(lambda call: [reply]) as service:
        for error in ask_both(service.path):
            assert type(error) is berth.DaemonError and error.name == "io.berth.Moon.Full"
            assert str(error) == "the daemon answers io.berth.Moon.Full (at 3)"


def test_text_cannot_control_a_terminal():
    reply = message({"error": "a.b.Un\nknown", "parameters": {"detail": "\x1b[2J\u009bx\nline"}})
    with Service(lambda call: [reply]) as service:
        for error in ask_both(service.path):
            assert str(error) == " [2J x line" and error.name == "a.b.Un known"


def test_time_limit():
    with Service(lambda call: [b'{"parameters"']) as service:
        for error in ask_both(service.path, timeout=0.2):
            assert type(error) is berth.TimedOut and str(error) == \
                "no answer from the daemon within 0.2 s"


def test_connects_again():
    answers = iter(([None], [status(version="2")]))
    with Service(lambda call: next(answers)) as service:
        client = berth.Client(service.path)
        with pytest.raises(berth.Closed):
            client.status()
        assert client.status().version == "2"
        client.close()


class Slow(Service):
    """Answers call 1 when call 2 has come, or after half a minute."""

    def __init__(self):
        self.came = {1: threading.Event(), 2: threading.Event()}
        super().__init__(self.answer_slowly)

    def answer_slowly(self, question):
        number = question["parameters"]["number"]
        self.came[number].set()
        self.came[2].wait(30)
        return [message({"parameters": {"number": number}})]


def test_late_answer_is_not_the_next_one():
    """After a call that was cancelled, or was late, its answer belongs to nobody."""
    async def ask(service):
        async with aio.Client(service.path) as client:
            first = asyncio.create_task(client.call("a.b.C", number=1))
            await asyncio.get_running_loop().run_in_executor(None, service.came[1].wait, 30)
            first.cancel()
            return await client.call("a.b.C", number=2)
    with Slow() as service:
        assert asyncio.run(ask(service)) == {"number": 2}
    with Slow() as service, berth.Client(service.path, timeout=0.2) as client:
        with pytest.raises(berth.TimedOut):
            client.call("a.b.C", number=1)
        client.timeout = 20.0
        assert client.call("a.b.C", number=2) == {"number": 2}


def test_streams_end():
    watch = message({"parameters": {"snapshot": "1", "changed": ["node"]}, "continues": True})
    with Service(lambda call: [watch, watch, None]) as service:
        stream = berth.Client(service.path).watch()
        assert [next(stream).snapshot, next(stream).snapshot] == ["1", "1"]
        with pytest.raises(berth.Closed):
            next(stream)


def test_fork_beside_a_call_of_another_thread():
    """The lock that the thread holds is no lock of the child's."""
    called = threading.Event()

    def answer(question):
        if question["parameters"] == {"number": 1}:
            called.set()
            threading.Event().wait(60)
        return [status()]

    with Service(answer) as service, berth.Client(service.path) as client:
        threading.Thread(target=client.call, args=("a.b.C",), kwargs={"number": 1}, daemon=True).start()
        assert called.wait(30)
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                signal.alarm(10)
                os._exit(0 if client.status().version == "9" else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
