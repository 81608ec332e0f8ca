"""Every method of the interfaces, asked of daemons over recorded nodes."""
import asyncio
import dataclasses
import importlib.util
import json
import os
import pathlib
import pickle
import re
import socket

import berth
import idl
import pytest
from berth import _connection, _here, aio
from berth._wire import plain
from service import Service

HERE = pathlib.Path(__file__).resolve().parent
QUESTIONS = [  # function, method, parameters: each answer has every field that the daemon sent
    ("node", "Fabric.GetNode", {}), ("metrics", "Fabric.ListMetrics", {}),
    ("curves", "Fabric.GetCurves", {"metric": "gpu_gpu_copy_engine"}),
    ("contention", "Fabric.GetContention", {}), ("tuning", "Fabric.GetTuning", {}),
    ("status", "Fabric.GetStatus", {}), ("export", "Fabric.Export", {"format": "dot"}),
    ("health", "Health.Check", {}),
    ("bind", "Placement.Bind", {"tasks": 4, "pattern": "ring", "allowed": None, "key": None}),
    ("bind", "Placement.Bind", {"tasks": 2, "flows": [berth.Flow(0, 1, 1 << 20)], "allowed": None}),
    ("alloc", "Placement.Allocate", {
        "bytes": 1 << 30, "allowed": berth.Allowed(memory=("numa0",)),
        "accesses": [berth.Access("gpu0", reads_bytes=1 << 30, writes_bytes=0)]}),
    ("route", "Placement.Route", {"from_": "gpu0", "to": "gpu1", "bytes": 1 << 26, "allowed": None}),
    ("claims", "Placement.ListClaims", {}), ("reports", "Placement.ListReports", {}),
]


def without_null(value):
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return [without_null(item) for item in value] if isinstance(value, list) else value


def of_time(value):
    """Without numbers that differ from one question to the next."""
    if isinstance(value, dict):
        return {key: of_time(item) for key, item in value.items() if key not in ("id", "clients")}
    return [of_time(item) for item in value] if isinstance(value, list) else value


def wire(parameters):
    return {name.rstrip("_"): value for name, value in parameters.items()}


@pytest.mark.parametrize("function, method, parameters", QUESTIONS)
def test_answers_have_every_field(node, function, method, parameters):
    with berth.Client(node.socket) as client:
        sent = client.call("io.berth." + method, **wire(parameters))
        answer = getattr(client, function)(**parameters)

    async def ask():
        async with aio.Client(node.socket) as other:
            return await getattr(other, function)(**parameters)
    assert of_time(plain(answer)) == of_time(without_null(sent))
    assert of_time(plain(asyncio.run(ask()))) == of_time(without_null(sent))
    assert pickle.loads(pickle.dumps(answer)) == answer
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.basis = None


def test_every_method_is_a_function():
    asked = {method for _, method, _ in QUESTIONS} | {
        "Fabric.GetMatrix", "Fabric.History", "Fabric.Watch", "Fabric.Record", "Health.Probe",
        "Placement.Claim", "Placement.Release", "Placement.Report"}
    declared = [f"{name}.{method}" for name, text in idl.files().items()
                for method in idl.Interface(text).methods]
    assert asked <= {name.replace("io.berth.", "") for name in declared}
    ours = [name for name, its in vars(berth.Client).items() if callable(its)]
    assert len(ours) == len(declared) - 1  # Map hands out file descriptors
    assert all(hasattr(berth, name) and hasattr(aio, name) and hasattr(aio.Client, name)
               for name in ours)


def test_functions_find_the_daemon(mi250x, monkeypatch):
    monkeypatch.setenv("BERTH_SOCKET", mi250x.socket)
    assert berth.alloc(1 << 20, allowed=None).options[0].call.startswith("numa_alloc_onnode(1048576")
    assert asyncio.run(aio.status()).state == "ready"
    assert dict((reply.file, reply.text) for reply in berth.record())["node.json"]
    stream = berth.watch()
    assert "node" in next(stream).changed
    stream.close()

    async def first():
        async for reply in aio.watch():
            return reply
    assert "node" in asyncio.run(first()).changed


def test_the_page_runs(mi250x, monkeypatch):
    """The example of docs/PROGRAMMING.md, as a program that sees the whole node."""
    page = (HERE.parent.parent / "docs/PROGRAMMING.md").read_text().partition("## Python")[2]
    code = re.search("^```python\n(.*?)^```", page, re.M | re.S)[1]
    if importlib.util.find_spec("matplotlib") is None:
        code = code.replace("copies.plot()", "")
    monkeypatch.setenv("BERTH_SOCKET", mi250x.socket)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(berth, "take", lambda: None)  # this process keeps its cpus
    monkeypatch.setattr(_connection, "needs_node", lambda _: False)
    monkeypatch.setattr(_connection, "complete", lambda asked, _: asked.update(allowed=None))
    names = {}
    exec(code, names)
    assert names["best"].kind == "system" and names["path"].predicted.time_ns > 0
    assert len(names["copies"].cells) == 56


def test_claim_and_release(live):
    with berth.Client(live.socket) as client:
        made = client.claim(["core0"], "compute", ttl_s=60, key="python/1").claim
        assert made is not None and made.places == ("core0",) and made in client.claims().claims
        assert client.release(key="python/1").released == 1
        assert client.release(key="python/1").released == 0


def test_errors_have_names(mi250x):
    with berth.Client(mi250x.socket) as client:
        with pytest.raises(berth.NoSuchPlace) as caught:
            client.route("gpu0", "gpu99", 1)
        error = caught.value
        assert error.name == "io.berth.Placement.NoSuchPlace" and isinstance(error, berth.Error)
        assert error.parameters["place"] == "gpu99" and "gpu0 to gpu7" in str(error)
        assert pickle.loads(pickle.dumps(error)).name == error.name
        for kind, method, parameters in (
                (berth.InvalidParameter, "io.berth.Placement.Bind", {"tasks": "4"}),
                (berth.MethodNotFound, "io.berth.Placement.None", {}),
                (berth.NotEnough, "io.berth.Placement.Bind", {"tasks": 9})):
            with pytest.raises(kind) as caught:
                client.call(method, **parameters)
            assert str(caught.value)
        with pytest.raises(ValueError):
            client.call("io.berth.Fabric.GetMatrix", metric=float("nan"))
        assert client.status().state == "ready"


def test_no_daemon(tmp_path):
    with pytest.raises(berth.NoDaemon, match="no daemon at"):
        berth.Client(str(tmp_path / "none")).status()
    with pytest.raises(berth.NoDaemon, match="cannot reach"):
        berth.Client(str(tmp_path / ("long" * 40))).status()
    with pytest.raises(berth.NoDaemon):
        asyncio.run(aio.Client(str(tmp_path / "none")).status())


def test_what_may_be_used_is_sent(mi250x, monkeypatch):
    asked = []

    def forward(question):
        asked.append(question["parameters"])
        return [json.dumps({"parameters": mi250x.call(question["method"], question["parameters"])}).encode() + b"\0"]
    monkeypatch.setenv("BERTH_KEY", "mine")
    with Service(forward) as service, berth.Client(service.path) as client:
        client.bind(1, gpus_per_task=0)
        client.bind(1, allowed=None)
        client.alloc(1, allowed=berth.Allowed(gpus=()))
    first, second, third = (its for its in asked if its)  # GetNode has none
    assert first["key"] == "mine" and first["gpus_per_task"] == 0
    assert _here.parse_cpus(first["allowed"]["cpus"]) == os.sched_getaffinity(0)
    assert second == {"tasks": 1}
    assert third["allowed"] == {"gpus": []}


def test_a_child_of_fork_connects_by_itself(mi250x):
    def inode(client):
        return os.fstat(client._socket.fileno()).st_ino
    with berth.Client(mi250x.socket) as client:
        client.status()
        before = inode(client)
        child = os.fork()
        if child == 0:
            try:
                client.status()
                os._exit(0 if inode(client) != before else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        client.status()
        assert inode(client) == before


def test_many_at_once(mi250x):
    async def ask():
        async with aio.Client(mi250x.socket) as client:
            return await asyncio.gather(*(client.alloc(n << 20, allowed=None) for n in range(1, 9)))
    calls = [answer.options[0].call for answer in asyncio.run(ask())]
    assert calls == [f"numa_alloc_onnode({n << 20}, 0)" for n in range(1, 9)]


def test_an_abstract_name(tmp_path):
    """A socket without a file, which libberth and so berth.empty reach by the same variable."""
    name = f"berth-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        with berth.Client(f"@{name}", timeout=0.1) as client:
            with pytest.raises(berth.TimedOut):
                client.status()

        async def wait():
            async with aio.Client(f"@{name}", timeout=0.1) as client:
                await client.status()
        with pytest.raises(berth.TimedOut):
            asyncio.run(wait())
