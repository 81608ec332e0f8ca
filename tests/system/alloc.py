"""Allocate on virtual GH200, MI300A, H200 and MI250X nodes and on recorded ones. Prints TAP."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES, RUN  # noqa: E402
from reasons import codes  # noqa: E402
from varlink import call  # noqa: E402
from tap import run_tests  # noqa: E402

STANDIN = pathlib.Path(__file__).resolve().parent.parent / "standin"
SHARED = NODES.parent.parent.parent / "shared/nodes"
GIB = 1 << 30


def cpu_records(processors, memories):
    """Records of a CPU probe: (from, to) in NUMA nodes, a rate, a latency."""
    lines = [RUN]
    for cores in processors:
        for memory in memories:
            rate, latency = memories[memory](cores)
            for axes, value in (({}, rate), ({"operation": "write"}, rate / 2), ({"threads": "1"}, rate / 8), ({"threads": "8"}, rate / 2)):
                lines.append(json.dumps({"record": "value", "metric": "memory_bandwidth", "from": f"numa{cores}", "to": f"numa{memory}", "axes": axes,
                                         "value": value, "low": value * 0.99, "high": value * 1.01, "n": 9}))
            lines.append(json.dumps({"record": "value", "metric": "memory_latency", "from": f"numa{cores}", "to": f"numa{memory}", "axes": {},
                                     "value": latency, "low": latency * 0.99, "high": latency * 1.01, "n": 9}))
    return "\n".join(lines + ['{"record":"end","status":"complete"}'])


def near_or_far(home, near, far):
    return lambda cores: near if cores == home else far


GH200_CPU = cpu_records(range(4), {n: near_or_far(n % 4, (450e9, 110), (100e9, 700)) for n in range(4)} |
                        {4 + 8 * n: near_or_far(n, (140e9, 800), (90e9, 1100)) for n in range(4)})
MI300A_CPU = cpu_records(range(4), {n: near_or_far(n, (200e9, 160), (60e9, 700)) for n in range(4)})


@contextlib.contextmanager
def virtual(name, cpu=None):
    """A daemon over a test node as a stand-in's.

    Its measurements are from the real GPU probe on the virtual node of that name, and from cpu,
    records of another node.
    """
    with tempfile.TemporaryDirectory(prefix="berth-alloc-") as folder:
        node, probes = pathlib.Path(folder) / "node", pathlib.Path(folder) / "probes"
        shutil.copytree(NODES / name, node)
        about = {**json.loads((node / "node.json").read_text()), "origin": "standin"}
        about.pop("measurements", None)
        (node / "node.json").write_text(json.dumps(about))
        probes.mkdir()
        (probes / "berth-probe-gpu").write_text(f"#!/bin/bash\nSTANDIN={os.environ['STANDIN']} exec {STANDIN}/run.sh {name} {BIN}/berth-probe-gpu \"$@\"\n")
        if cpu is not None:
            (pathlib.Path(folder) / "cpu").write_text(cpu)
            (probes / "berth-probe-cpu").write_text(f"#!/bin/bash\ncat {folder}/cpu\n")
        for program in probes.iterdir():
            program.chmod(0o755)
        with Daemon("--node", node, config=f"probe_dir = {probes}\ngpu_quick_budget_ms = 12000\n") as daemon:
            daemon.wait_ready(300)
            yield daemon


def ask(daemon, size, *accesses, **request):
    request = {"bytes": size, "allowed": {}, **request}
    return call(daemon.socket, "io.berth.Placement.Allocate", {**request, "accesses": list(accesses)} if accesses else request)


def by(place, reads=0, writes=0, **more):
    return {"by": place, "reads_bytes": reads, "writes_bytes": writes, **more}


# What is counted for less than it takes: such options stand behind all others that are predicted.
LOWER_BOUNDS = {"rate-at-most", "random-as-stream", "migration-not-counted"}


def is_bound(option):
    """It takes at least that time."""
    return option["predicted"]["low_ns"] is not None and option["predicted"]["high_ns"] is None


def is_time_of(option, ns):
    """The same but for rounding to nanoseconds."""
    return abs(time(option) - ns) <= 1


def check_reasons(options, reasons):
    """Their options and numbers are those of the answer."""
    by_name = {(o["memory"], o["kind"]): o for o in options}
    for reason in reasons:
        code, subjects, numbers = reason["code"], reason["subjects"], reason["numbers"]
        if code == "option-part":  # it is for the same side as the whole
            first, second = options[0], by_name[subjects[1], subjects[2]]
            assert (numbers["other_ns"] > numbers["time_ns"]) == (time(second) > time(first)), reasons
            assert numbers["time_ns"] <= time(first) * (1 + 1e-9) + 1 and numbers["other_ns"] <= time(second) * (1 + 1e-9) + 1, reasons
        elif code == "option-nearest":
            assert by_name[tuple(subjects[:2])] is options[0] and options[0]["predicted"] is None, (reason, options)
        else:
            option = by_name[tuple(subjects)]
            assert code == "option-behind" and option is not options[0] and is_time_of(option, numbers["time_ns"]) and time(option) < time(options[0]), (reason, options)
            assert is_bound(option) or time(option) > 0.99 * time(options[0]), (reason, options)


def answer(daemon, size, *accesses, **request):
    """The options by (memory, kind), the first of them, and the subjects of warnings by code."""
    error, reply = ask(daemon, size, *accesses, **request)
    assert error is None, (error, reply)
    options = reply["options"]
    assert len(reply["warnings"]) < 24 and "note" not in codes(reply, "warnings") + codes(reply, "reasons"), reply  # all of them fit
    warnings = {}
    for warning in reply["warnings"]:
        warnings.setdefault(warning["code"], []).extend(warning["subjects"])
    known = [o for o in options if o["predicted"]]
    # What is not predicted stands behind what is, but a gpu's own memory of which no figure is known: nothing farther is faster.
    last = max((n for n, o in enumerate(options) if o["predicted"] and not is_bound(o)), default=-1)
    owns = {o["memory"] for o in options[:last + 1] if not o["predicted"]}
    assert owns <= set(warnings.get("by-distance", [])), (owns, warnings)
    assert all(o["evidence"] or "access-by-links" in warnings for o in known) and all(o["call"] for o in options), (options, warnings)
    check_reasons(options, reply["reasons"])
    # What takes at least some time stands behind what is predicted, but for the nearest memory's peak. Of such what has a part that is not counted is last: there alone a shorter one
    # stands behind a longer one, and of one shorter than the first a reason speaks.
    roomy = [o for o in known if o["free_bytes"] is None or o["free_bytes"] >= size]

    def is_in_order(but):
        bounds = [is_bound(o) for o in roomy if o["memory"] != but]
        return bounds == sorted(bounds)
    assert any(map(is_in_order, {o["memory"] for o in roomy} | {None})), options
    times = [time(o) for o in roomy if is_bound(o) and o["memory"] != options[0]["memory"]]
    drops = [later for earlier, later in zip(times, times[1:]) if later < 0.98 * earlier]
    assert len(drops) <= 1 and (not drops or LOWER_BOUNDS & set(warnings)), (options, warnings)
    is_passed_over = options[0]["predicted"] and any(time(o) < 0.99 * time(options[0]) for o in roomy)
    assert not is_passed_over or "option-behind" in codes(reply, "reasons"), (options, reply["reasons"])
    # Never an option before one that is faster for certain, which one that takes at least some time is not.
    lowest = float("inf")
    for option in reversed([o for o in known if not is_bound(o)]):
        predicted = option["predicted"]
        assert predicted["low_ns"] is None or predicted["low_ns"] <= lowest * (1 + 1e-9), options
        lowest = min(lowest, predicted["high_ns"] if predicted["high_ns"] is not None else predicted["time_ns"])
    return {(o["memory"], o["kind"]): o for o in options}, options[0], warnings


def time(option):
    return option["predicted"]["time_ns"]


def near(value, expected, share=0.02):
    assert abs(value / expected - 1) <= share, (value, expected)


def on_a_quad_gh200_the_right_node_is_worth_a_factor_of_nine():
    with virtual("gh200-quad", GH200_CPU) as daemon:
        for gpu in range(4):
            options, first, _ = answer(daemon, 4 * GIB, by(f"gpu{gpu}", reads=16 * GIB, writes=4 * GIB))
            own = 4 + 8 * gpu
            assert first["memory"] == f"numa{own}" and first["call"] == f"numa_alloc_onnode({4 * GIB}, {own})", first
            near(time(first), 20 * GIB / 3700e9 * 1e9)
            near(time(options[f"numa{gpu}", "pinned"]), 16 * GIB / 418.5e9 * 1e9 + 4 * GIB / 378e9 * 1e9)
            assert time(options[f"numa{(gpu + 1) % 4}", "pinned"]) > 3 * time(options[f"numa{gpu}", "pinned"])
            near(time(options[f"gpu{gpu}", "device"]), time(first))
            assert options[f"gpu{gpu}", "device"]["call"] == f"cudaMalloc(&p, {4 * GIB}) on gpu{gpu}"
        # Cores reach it as a NUMA node, and not what cudaMalloc gives.
        options, first, warnings = answer(daemon, 4 * GIB, by("gpu2", reads=16 * GIB), by("numa2", writes=GIB, cores=8))
        assert first["memory"] == "numa20" and ("gpu2", "device") not in options and warnings["unreached"] == ["device", "cores"], (first, warnings)
        near(time(first), 16 * GIB / 3700e9 * 1e9 + GIB / 70e9 * 1e9)
        # By cores alone it is the processor's own; with a few of them by the rate of a few; at random by latency.
        options, first, _ = answer(daemon, GIB, by("numa1", reads=4 * GIB, cores=8))
        assert first["memory"] == "numa1" and first["kind"] == "system"
        near(time(first), 4 * GIB / 225e9 * 1e9)
        options, first, _ = answer(daemon, GIB, by("numa1", reads=64 * 1000, pattern="random", cores=1))
        assert first["memory"] == "numa1"
        near(time(first), 110e3)
        near(time(options["numa4", "system"]), 1100e3)
        done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "alloc", "4G", "--by", "gpu0:reads=16G", "--kind", "device,pinned", "--gpus", "0-3", "--why"],
                              capture_output=True, text=True, timeout=60, env={**os.environ, "LANG": "C.UTF-8"})
        text = " ".join(done.stdout.split())
        assert done.returncode == 0 and "gpu0, device memory: 4.65 ms" in text and "numa0 pinned 41.1 ms" in text, (done.stderr, done.stdout)


def on_an_mi300a_there_is_one_memory():
    with virtual("mi300a", MI300A_CPU) as daemon:
        options, first, _ = answer(daemon, 4 * GIB, by("gpu1", reads=16 * GIB), by("numa1", reads=GIB))
        assert {memory for memory, _ in options} == {"numa0", "numa1", "numa2", "numa3"}, options.keys()
        assert (first["memory"], first["kind"], first["call"]) == ("numa1", "device", f"hipMalloc(&p, {4 * GIB}) on gpu1"), first
        near(time(first), 16 * GIB / 3600e9 * 1e9 + GIB / 200e9 * 1e9)
        near(time(options["numa1", "pinned"]), 16 * GIB / 3200e9 * 1e9 + GIB / 200e9 * 1e9)
        assert options["numa1", "pinned"]["call"] == f"hipHostMalloc(&p, {4 * GIB}, hipHostMallocDefault) on gpu1"
        assert time(options["numa2", "pinned"]) > 10 * time(first)
        assert options["numa1", "system"]["predicted"] is not None


def on_discrete_gpus_it_is_their_own():
    with virtual("h200x4") as daemon:
        options, first, warnings = answer(daemon, 4 * GIB, by("gpu1", reads=16 * GIB, writes=4 * GIB))
        assert (first["memory"], first["kind"]) == ("gpu1", "device") and first["free_bytes"] is None, first
        near(time(first), 20 * GIB / 4200e9 * 1e9)
        near(time(options["numa0", "pinned"]), 16 * GIB / 51.5e9 * 1e9 + 4 * GIB / 52.7e9 * 1e9)
        assert options["numa0", "pinned"]["call"] == f"numa_set_preferred(0); cudaHostAlloc(&p, {4 * GIB}, cudaHostAllocDefault)"
        assert time(first) < time(options["gpu0", "device"]) < time(options["numa0", "pinned"])
        assert options["numa0", "system"]["predicted"] is None and warnings["reach-unknown"] == ["system", "gpu1"], warnings
        options, first, _ = answer(daemon, GIB, by("gpu0", reads=GIB, pattern="random"), kinds=["device"])
        assert first["memory"] == "gpu0" and list(options) == [(f"gpu{n}", "device") for n in range(4)] and first["predicted"]["high_ns"] is None
        options, _, _ = answer(daemon, GIB, by("gpu2", reads=GIB), allowed={"gpus": ["gpu2"]})
        assert {memory for memory, _ in options} == {"numa0", "gpu2"}, options


def on_an_mi250x_pinned_memory_is_the_nodes_own():
    with virtual("mi250x") as daemon:
        options, first, _ = answer(daemon, GIB, by("gpu0", reads=8 * GIB))
        assert (first["memory"], first["kind"], first["call"]) == ("gpu0", "device", f"hipMalloc(&p, {GIB}) on gpu0"), first
        assert options["numa3", "pinned"]["call"] == f"hipHostMalloc(&p, {GIB}, hipHostMallocDefault) on gpu0"
        assert options["numa0", "pinned"]["call"] == f"numa_set_preferred(0); hipHostMalloc(&p, {GIB}, hipHostMallocNumaUser)"
        assert time(options["numa3", "pinned"]) > 10 * time(first)
        assert {memory for memory, kind in options if kind == "device"} == {f"gpu{n}" for n in range(8)}
        # Two GCDs: each one's own memory suits one of them; asked for host memory, all who use it are counted.
        options, first, _ = answer(daemon, GIB, by("gpu0", reads=8 * GIB), by("gpu5", reads=GIB))
        assert first["memory"] == "gpu0", first


def own_memories(node):
    """By gpu: the names of its own memory, and its bytes (None unknown)."""
    places = {p["name"]: p for p in node["places"]}
    owns = {}
    for name, place in places.items():
        if place["kind"] != "gpu":
            continue
        is_one = "MI300A" in (place["model"] or "")
        buses = {end for link in node["links"] if link["kind"] == "membus" and name in (link["from"], link["to"]) for end in (link["from"], link["to"])}
        owns[name] = {place["numa"]} if is_one else {name} | buses
    return owns, {name: place.get("capacity_bytes") for name, place in places.items()}


@contextlib.contextmanager
def recorded_nodes():
    """Daemons over all folders that can be loaded."""
    folders = sorted(path for root in (NODES, SHARED) if root.is_dir() for path in root.iterdir() if path.is_dir() and not path.name.startswith("broken"))

    def nodes():
        for folder in folders:
            with tempfile.TemporaryDirectory(prefix="berth-node-") as place:
                daemon = Daemon("--node", folder, directory=place, wait=False)
                with contextlib.suppress(AssertionError):
                    daemon.wait_for_socket()
                if daemon.process.poll() is not None:
                    daemon.log.close()
                    continue  # several files in one folder, or none that can be loaded: it has said so
                with daemon:
                    yield folder, daemon
                    assert daemon.process.poll() is None
    yield nodes()


def on_every_node_a_gpus_own_memory_is_first():
    asked = 0
    with recorded_nodes() as nodes:
        for folder, daemon in nodes:
            owns, bytes_of = own_memories(daemon.call("io.berth.Fabric.GetNode"))
            for gpu, own in owns.items():
                for access in (by(gpu, reads=1 << 30), by(gpu, writes=1 << 30), by(gpu, reads=1 << 28, writes=1 << 20), by(gpu, reads=1 << 26, pattern="random")):
                    _, first, _ = answer(daemon, 1 << 26, access)
                    assert first["memory"] in own, (folder, gpu, own, access, first)
                    asked += 1
                # More than it has: another one, and no error where there is one. By a gpu that the caller may not use: none.
                error, reply = ask(daemon, 1 << 26, by(gpu, reads=1 << 28), allowed={"gpus": [other for other in owns if other != gpu]})
                assert (error or "").endswith("NothingAllowed") and gpu + " is not among the gpus that are allowed" in reply["detail"], (folder, gpu, error, reply)
                if bytes_of[gpu]:
                    error, reply = ask(daemon, bytes_of[gpu] + 1, by(gpu, reads=1 << 28), kinds=["device"])
                    assert (error or "").endswith("NotEnough") or reply["options"][0]["memory"] != gpu, (folder, gpu, error, reply)
    assert asked > 60, asked


def on_every_node_pinned_memory_is_the_gpus_own_unless_farther_was_measured_faster():
    asked = 0
    with recorded_nodes() as nodes:
        for folder, daemon in nodes:
            for place in daemon.call("io.berth.Fabric.GetNode")["places"]:
                if place["kind"] != "gpu" or place["numa"] is None:
                    continue
                gpu, own = place["name"], place["numa"]
                for access in (by(gpu, reads=1 << 34), by(gpu, writes=1 << 34), by(gpu, reads=1 << 20, writes=1 << 14)):
                    error, reply = ask(daemon, 1 << 26, access, kinds=["pinned"])
                    assert error is None, (folder, gpu, error, reply)
                    order = [o["memory"] for o in reply["options"]]
                    for option in reply["options"][:order.index(own)]:
                        sources = [(v["source"], v["from"], v["to"]) for v in option["evidence"]]
                        assert any(s == "measured" and option["memory"] in ends for s, *ends in sources), (folder, gpu, own, access, reply["options"])
                    asked += len(order) > 1
    assert asked > 20, asked
    with Daemon("--node", NODES / "mi250x") as daemon:
        options, first, warnings = answer(daemon, 4 * GIB, by("gpu0", reads=16 * GIB), kinds=["pinned"])
        assert first["memory"] == "numa3" and len({time(o) for o in options.values()}) == 1, options
        near(time(first), 16 * GIB / 28.3e9 * 1e9)  # 25.5 is managed memory's
        assert options["numa0", "pinned"]["evidence"] and warnings["access-by-links"] == ["numa0", "numa1", "numa2"], warnings
        options, first, _ = answer(daemon, 4 * GIB, by("gpu0", reads=16 * GIB), by("gpu4", reads=16 * GIB), kinds=["pinned"])
        assert first["memory"] == "numa3" and time(first) == time(options["numa0", "pinned"]) <= time(options["numa1", "pinned"]), options


def every_recorded_node_answers():
    asked = 0
    with recorded_nodes() as nodes:
        for folder, daemon in nodes:
            places = daemon.call("io.berth.Fabric.GetNode")["places"]
            gpus = [p["name"] for p in places if p["kind"] == "gpu"][:4]
            cores = [p["name"] for p in places if p["kind"] == "numa" and p["cpus"]][:4] + [p["name"] for p in places if p["kind"] == "llc"][:1]
            requests = [[by(user, reads=1 << 28)] for user in cores + gpus] + [[by(user, reads=1 << 28, writes=1 << 24), by(gpu, reads=1 << 30)] for user in cores[:2] for gpu in gpus[:2]]
            requests += [[by(gpus[0], reads=1 << 30), by(gpu, reads=bytes_of)] for gpu in gpus[1:] for bytes_of in (1 << 28, 1 << 30)]
            requests += [[by(user, reads=1 << 28, pattern="random"), by(user, writes=1 << 28, cores=1)] for user in cores[:2]]
            for accesses in requests:
                error, reply = ask(daemon, 1 << 26, *accesses)
                assert error is None or error.rsplit(".", 1)[1] in ("NotMeasured", "InvalidParameter"), (folder, accesses, error, reply)
                asked += 1
                if error is None:
                    answer(daemon, 1 << 26, *accesses)
    assert asked > 60, asked


def on_reconstructed_nodes_cores_are_priced_by_what_was_published_or_stated():
    for name, own, others in (("mi250x", 51.2e9, {"numa1": 51.2e9}), ("gh200-quad", 500e9, {"numa4": 238.5e9, "numa1": 100e9}), ("mi300a", 5300e9, {"numa1": 96e9})):
        with Daemon("--node", NODES / name) as daemon:
            options, first, warnings = answer(daemon, GIB, by("numa0", reads=GIB))
            assert (first["memory"], first["kind"]) == ("numa0", "system"), first
            near(time(first), GIB / own * 1e9, 1e-5)
            for memory, rate in others.items():
                near(time(options[memory, "system"]), GIB / rate * 1e9, 1e-5)
            for option in options.values():
                assert option["predicted"] is None or (option["evidence"] or "access-by-links" in warnings) and {v["source"] for v in option["evidence"]} <= {"published", "nominal"}, option
            # package0's 64 cores against 16; a peak that is the gpu's as well, and links, which cores do not fill
            assert is_bound(first) and (name != "mi300a" or all(is_bound(o) for o in options.values() if o["predicted"])), options
            assert "numa0" in warnings["rate-at-most"], warnings
            # With fewer cores the figure of all of them says what they take at least; several who use it add up; so do a gpu and cores.
            options, first, warnings = answer(daemon, GIB, by("numa0", reads=GIB, cores=1), by("numa0", writes=GIB))
            near(time(first), 2 * GIB / own * 1e9, 1e-5)
            assert first["memory"] == "numa0" and first["predicted"]["low_ns"] == time(first) and first["predicted"]["high_ns"] is None, first
            assert "numa0" in warnings["rate-at-most"], warnings
            gpu = "gpu4" if name == "mi250x" else "gpu0"
            options, first, warnings = answer(daemon, GIB, by(gpu, reads=GIB), by("numa0", reads=1000))
            assert first["predicted"] and all(v["source"] in ("published", "nominal") for v in first["evidence"]), first
            # A memory's peak is published of reading: it stands for writing.
            options, first, warnings = answer(daemon, GIB, by(gpu, reads=GIB, writes=GIB))
            assert first["predicted"] and (name != "gh200-quad" or first["memory"] in warnings["similar-access"]), (first, warnings)
            near(time(first), 2 * time(answer(daemon, GIB, by(gpu, reads=GIB))[1]), 1e-5)
            if name == "mi250x":  # what lacks a part stands behind bounds of few cores, however short, and before what is not predicted at all
                options, first, _ = answer(daemon, GIB, by("gpu0", reads=16 * GIB), by("numa3", writes=GIB, cores=2))
                assert (first["memory"], first["kind"]) == ("numa3", "pinned") and time(options["gpu0", "managed"]) < 0.1 * time(first), options
                assert [kind for (memory, kind), option in options.items() if option["predicted"]][-1] == "managed", options
            if name == "mi300a":  # a quarter of the cores is next to it, the others come over links of 128 GB/s, of which such reach 96
                options, first, warnings = answer(daemon, GIB, allowed={"cpus": "0-95"})
                assert first["memory"] == "numa0" and "numa0" in warnings["access-by-links"], warnings
                near(time(first), GIB / (4 * 96e9) * 1e9, 1e-5)
            if name == "mi250x":  # kernels nobody measured, by one rule whoever asks
                options, _, _ = answer(daemon, GIB, by("gpu1", reads=GIB))
                error, route = call(daemon.socket, "io.berth.Placement.Route", {"from": "gpu0", "to": "gpu1", "bytes": GIB, "allowed": {}})
                kernel = [o for o in route["options"] if [s["mechanism"] for s in o["segments"]] == ["kernel"] and not o["segments"][0]["via"]]
                assert error is None and len(kernel) == 1, route
                near(time(options["gpu0", "device"]), time(kernel[0]), 0.01)
    with Daemon("--node", NODES / "gh200-quad") as daemon:
        # Pinned memory is no faster for want of a figure than the ordinary memory beside it.
        options, _, warnings = answer(daemon, GIB, by("gpu0", reads=GIB))
        assert time(options["numa0", "pinned"]) == time(options["numa0", "system"]), options
        near(time(options["numa0", "pinned"]), GIB / 418.5e9 * 1e9, 1e-5)
        assert "numa0" in warnings["similar-access"], warnings


def what_is_known_to_take_longer_does_not_go_first():
    """Overlapping intervals make two memories equal only when their times are close."""
    for size in (1 << 26, GIB, 8 * GIB):
        with Daemon("--node", NODES / "h200x1") as daemon:
            options, first, warnings = answer(daemon, size, by("numa0", reads=size), by("gpu0", reads=size, writes=size))
            managed = options["gpu0", "managed"]
            assert (first["memory"], first["kind"]) == ("numa0", "pinned") and time(managed) > 1.2 * time(first), options
            assert managed["predicted"]["low_ns"] < first["predicted"]["high_ns"], (options, warnings)


def what_starting_kernels_costs_is_a_lower_bound_where_nobody_knows_it():
    """Allocate agrees with Route and Bind about few bytes.

    The start-up time is irrelevant for many bytes, and included where it was measured.
    """
    for name in ("gh200-quad", "mi300a", "mi250x"):
        with Daemon("--node", NODES / name) as daemon:
            for size, is_least in ((4096, True), (1 << 20, True), ((1 << 24) - 1, True), (1 << 24, False)):
                options, first, warnings = answer(daemon, size, by("gpu0", reads=size))
                known = [o for o in options.values() if o["predicted"]]
                assert all(map(is_bound, known)) if is_least else not is_bound(first) or any(w["source"] == "nominal" for w in first["evidence"]), (name, size, options)
                assert all(time(o) >= 1000 for o in known) and (size > 4096 or not known), (name, size, options)
                assert ("start-not-counted" in warnings) == is_least, (name, size, warnings)
    with Daemon("--node", NODES / "mi250x") as daemon:  # what lacks more than the start stays behind
        options, first, _ = answer(daemon, 1 << 20, by("gpu0", reads=1 << 20), by("numa3", writes=1 << 20, cores=2))
        assert first["kind"] == "pinned" and [kind for (_, kind), option in options.items() if option["predicted"]][-1] == "managed", options
    with Daemon("--node", NODES / "h200x1") as daemon:
        _, first, warnings = answer(daemon, 4096, by("gpu0", reads=4096))
        assert not is_bound(first) and time(first) > 1000 and "start-not-counted" not in warnings, (first, warnings)


def a_gpu_in_mig_mode_is_none_and_its_slices_are():
    """Bind, Route and Allocate use no device in MIG mode, and its slices count as gpus."""
    with tempfile.TemporaryDirectory(prefix="berth-mig-") as folder:
        node = pathlib.Path(shutil.copytree(NODES / "h200x4", pathlib.Path(folder) / "node"))
        lines = [json.loads(line) for line in (node / "facts.jsonl").read_text().splitlines()]
        whole = next(line for line in lines if line.get("gpu") == "gpu3")
        whole["mig"] = "on"
        slices = [{"record": "device", "gpu": f"gpu{4 + i}", "vendor": "nvidia", "pci": whole["pci"], "uuid": f"MIG-00000000-0000-0000-0000-00000000003{i}", "partition": "mig",
                   "model": "NVIDIA H200 MIG 3g.71gb", "bytes": 71000000000} for i in range(2)]
        at = lines.index(whole) + 1
        (node / "facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:at] + slices + lines[at:]))
        with Daemon("--node", node) as daemon:
            options, first, warnings = answer(daemon, GIB, by("gpu4", reads=GIB))
            assert (first["memory"], first["kind"]) == ("gpu4", "device") and warnings["gpu-left-out"] == ["gpu3"], (first, warnings)
            assert not any(memory == "gpu3" for memory, _ in options) and ("gpu5", "device") in options, options.keys()
            # Nothing was measured of a slice: what the whole device gets is not said of it.
            assert first["predicted"] is None and "gpu4" in warnings["by-distance"], (first, warnings)
            too_much = answer(daemon, 100 * 10**9, by("gpu4", reads=GIB))[0]
            assert ("gpu0", "device") in too_much and ("gpu4", "device") not in too_much, too_much.keys()
            for interface, request in (("Allocate", {"bytes": GIB, "accesses": [by("gpu3", reads=GIB)]}), ("Route", {"from": "gpu0", "to": "gpu3", "bytes": GIB})):
                error, reply = call(daemon.socket, f"io.berth.Placement.{interface}", {**request, "allowed": {}})
                assert error and error.endswith("Unavailable") and "gpu3" in json.dumps(reply) and "slices" in json.dumps(reply), (interface, error, reply)
            error, reply = call(daemon.socket, "io.berth.Placement.Bind", {"tasks": 5, "allowed": {}})
            assert error is None and sorted(task["gpus"][0] for task in reply["tasks"]) == ["gpu0", "gpu1", "gpu2", "gpu4", "gpu5"], (error, reply)


def bad_input_gets_a_named_error_that_says_what_there_is():
    with Daemon("--node", NODES / "h200x4") as daemon:
        cases = [
            (dict(size=1 << 62), "NotEnough", "the largest has"),
            (dict(size=GIB, accesses=[by("gpu9", reads=1)]), "NoSuchPlace", "gpu9"),
            (dict(size=GIB, accesses=[by("gpu0", reads=1, cores=4)]), "InvalidParameter", "cores are a processor's"),
            (dict(size=GIB, accesses=[by("numa0", reads=1, cores=65)]), "NotEnough", "numa0 has 64"),
            (dict(size=GIB, accesses=[by("numa0", reads=1), by("numa0")]), "InvalidParameter", "at least a byte"),
            (dict(size=GIB, kinds=[]), "NothingAllowed", "system, pinned, managed and device"),
            (dict(size=GIB, kinds=["magic"]), "InvalidParameter", "kinds"),
            (dict(size=GIB, kinds=["device"], allowed={"gpus": []}), "NothingAllowed", "no gpu is allowed"),
            (dict(size=GIB, kinds=["device"], accesses=[by("numa0", reads=1)]), "NothingAllowed", "cores cannot reach it"),
            (dict(size=GIB, allowed={"memory": []}), "NothingAllowed", ""),
            (dict(size=GIB, allowed={"cpus": ""}), "NothingAllowed", ""),
        ]
        for request, name, part in cases:
            error, reply = ask(daemon, request["size"], *request.get("accesses", []), **{k: v for k, v in request.items() if k not in ("size", "accesses")})
            assert error is not None and error.endswith(name) and part in json.dumps(reply), (request, error, reply)
    with Daemon("--node", NODES / "epyc-2s") as daemon:
        error, reply = ask(daemon, GIB, kinds=["device", "pinned"])
        assert error.endswith("NothingAllowed") and "there is no gpu, system memory there is" in reply["detail"], (error, reply)
        options, _, warnings = answer(daemon, GIB, kinds=["device", "system"])
        assert {kind for _, kind in options} == {"system"} and warnings["no-driver"] == ["device"], warnings


TESTS = [on_a_quad_gh200_the_right_node_is_worth_a_factor_of_nine, on_an_mi300a_there_is_one_memory, on_discrete_gpus_it_is_their_own,
         on_an_mi250x_pinned_memory_is_the_nodes_own, on_every_node_a_gpus_own_memory_is_first,
         on_every_node_pinned_memory_is_the_gpus_own_unless_farther_was_measured_faster, every_recorded_node_answers,
         on_reconstructed_nodes_cores_are_priced_by_what_was_published_or_stated, what_is_known_to_take_longer_does_not_go_first,
         what_starting_kernels_costs_is_a_lower_bound_where_nobody_knows_it, a_gpu_in_mig_mode_is_none_and_its_slices_are,
         bad_input_gets_a_named_error_that_says_what_there_is]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
