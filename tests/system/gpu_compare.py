"""tests/bench/gpu_compare.py against scripts in place of the tools, with chosen numbers.

Prints TAP.
"""
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from tap import run_tests  # noqa: E402

COMPARE = pathlib.Path(__file__).resolve().parent.parent / "bench" / "gpu_compare.py"
A, B = "0000:0a:00.0", "0000:8b:00.0"


def value(metric, source, target, number, half=0.002, **axes):
    return {"record": "value", "metric": metric, "from": source, "to": target, "axes": axes, "value": number,
            "low": number * (1 - half), "high": number * (1 + half), "n": 9}


def a_set(metric, *flows, **axes):
    return {"record": "set", "metric": metric, "flows": [{"from": a, "to": b, "axes": axes, "bytes_per_s": rate} for a, b, rate in flows]}


def berth(engine=1.0, kernel=1.0, stream=1.0):
    """Records of a node with two gpus;

    B is first, so that the order is that of addresses. Factors are relative to the figures of the
    fake references.
    """
    lines = [{"record": "run", "schema": 1, "probe": "gpu", "backend": "cuda", "started_at": 1790000000}]
    for gpu, scale in ((B, 1.1), (A, 1.0)):
        lines += [value("host_gpu_copy_engine", "numa0", gpu, 55e9 * scale * engine), value("host_gpu_copy_engine", gpu, "numa0", 54e9 * scale * engine),
                  value("host_gpu_copy_engine", "numa0", gpu, 95e9 * scale, direction="both"),
                  value("host_gpu_kernel", "numa0", gpu, 50e9 * scale * kernel), value("host_gpu_kernel", gpu, "numa0", 51e9 * scale * kernel),
                  value("memory_latency", gpu, "numa0", 1200 * scale), value("memory_latency", gpu, "numa0", 1100 * scale, bytes=2097152),
                  value("gpu_stream", gpu, gpu, 4000e9 * scale * stream), value("gpu_stream", gpu, gpu, 4100e9 * scale * stream, test="bs2"),
                  value("gpu_stream", gpu, gpu, 4200e9 * scale * stream, test="bs4"),
                  value("memory_bandwidth", gpu, gpu, 3800e9 * scale * stream, operation="copy")]
    for source, target, scale in ((A, B, 1.0), (B, A, 1.1)):
        # The one direction as samples: 1 MiB more in what 390 GB/s take for it is the rate at the top.
        step = (1 << 20) / (390 * scale * engine)
        lines += [{"record": "value", "metric": "gpu_gpu_copy_engine", "from": source, "to": target,
                   "samples": [{"bytes": 1 << 20, "median_ns": 5000 + step, "n": 9}, {"bytes": 1 << 21, "median_ns": 5000 + 2 * step, "n": 9}]},
                  value("gpu_gpu_copy_engine", source, target, 380e9 * scale * engine, direction="read"),
                  # Nor is a curve's top, which is lower, taken for the rate that was measured.
                  {"record": "value", "metric": "gpu_gpu_copy_engine", "from": source, "to": target, "axes": {"direction": "read"},
                   "samples": [{"bytes": 1 << 20, "median_ns": 8000, "n": 9}, {"bytes": 1 << 21, "median_ns": 12000, "n": 9}]},
                  value("gpu_gpu_kernel", source, target, 370e9 * scale * kernel, operation="read"),
                  value("gpu_gpu_kernel", source, target, 360e9 * scale * kernel, operation="pull"), value("gpu_gpu_kernel", source, target, 350e9 * scale * kernel),
                  value("memory_latency", source, target, 830 * scale)]
    lines += [value("gpu_gpu_copy_engine", A, B, 770e9 * engine, direction="both"), value("gpu_gpu_copy_engine", B, A, 760e9 * engine, direction="both-read"), value("gpu_gpu_kernel", A, B, 700e9 * kernel, direction="both"),
              value("gpu_gpu_kernel", A, B, 710e9 * kernel, direction="both", operation="pull"),
              a_set("host_gpu_copy_engine_concurrent", (A, "numa0", 41e9), (B, "numa0", 42e9)),
              a_set("host_gpu_copy_engine_concurrent", (A, "numa0", 31e9), (B, "numa0", 32e9), ("numa0", A, 33e9), ("numa0", B, 34e9)),
              # One way alone is not both ways of one.
              a_set("host_gpu_kernel_concurrent", (A, "numa0", 51e9 * kernel)), a_set("host_gpu_kernel_concurrent", ("numa0", A, 50e9 * kernel)),
              a_set("host_gpu_kernel_concurrent", (A, "numa0", 45e9 * kernel), ("numa0", A, 46e9 * kernel)),
              a_set("host_gpu_kernel_concurrent", (B, "numa0", 49e9 * kernel), ("numa0", B, 52e9 * kernel)),
              a_set("host_gpu_kernel_concurrent", (A, "numa0", 37e9 * kernel), (B, "numa0", 39e9 * kernel)),
              a_set("host_gpu_kernel_concurrent", ("numa0", A, 35e9 * kernel), ("numa0", B, 36e9 * kernel)),
              a_set("host_gpu_kernel_concurrent", (A, "numa0", 20e9 * kernel), (B, "numa0", 21e9 * kernel), ("numa0", A, 22e9 * kernel), ("numa0", B, 23e9 * kernel)),
              a_set("gpu_gpu_copy_engine_concurrent", (A, B, 390e9 * engine)), a_set("gpu_gpu_copy_engine_concurrent", (B, A, 391e9 * engine)),
              a_set("gpu_gpu_copy_engine_concurrent", (A, B, 380e9 * engine), direction="read"), a_set("gpu_gpu_copy_engine_concurrent", (B, A, 381e9 * engine), direction="read"),
              a_set("gpu_gpu_kernel_concurrent", (A, B, 350e9 * kernel)), a_set("gpu_gpu_kernel_concurrent", (B, A, 351e9 * kernel)),
              {"record": "end", "status": "complete", "elapsed_ns": 4, "statistics": {"driver_ns": 1000000}}]
    return "".join(json.dumps(line) + "\n" for line in lines)


def pair(first, second):
    """A matrix of nvbandwidth between two gpus: row acts, text, N/A on the diagonal."""
    return [["N/A", f"{first:g}"], [f"{second:g}", "N/A"]]


def nvbandwidth(first=1.0, second=1.0):
    host = {"host_to_device_memcpy_ce": 55, "device_to_host_memcpy_ce": 54, "host_to_device_bidirectional_memcpy_ce": 47.5,
            "device_to_host_bidirectional_memcpy_ce": 47.5, "host_to_device_memcpy_sm": 50, "device_to_host_memcpy_sm": 51,
            "host_device_latency_sm": 1165, "all_to_host_memcpy_ce": 41, "host_to_all_memcpy_ce": 44, "device_local_copy": 2000}
    both = {"host_to_device_bidirectional_memcpy_sm": (45.5, 50.5), "device_to_host_bidirectional_memcpy_sm": (45.5, 50.5),
            "all_to_host_bidirectional_memcpy_ce": (31, 32), "host_to_all_bidirectional_memcpy_ce": (33, 34),
            "all_to_host_memcpy_sm": (37, 39), "host_to_all_memcpy_sm": (35, 36),
            "all_to_host_bidirectional_memcpy_sm": (21, 22), "host_to_all_bidirectional_memcpy_sm": (21, 22),
            # To A comes what B has, by whoever moves it.
            "all_to_one_write_ce": (391, 390), "one_to_all_read_ce": (381, 380), "one_to_all_write_ce": (390, 391), "all_to_one_read_ce": (380, 381),
            "all_to_one_write_sm": (351, 350), "one_to_all_read_sm": (351, 350), "one_to_all_write_sm": (350, 351), "all_to_one_read_sm": (350, 351)}
    rows = [{"name": name, "status": "Passed", "bandwidth_matrix": [[f"{a * first:g}", f"{b * second:g}"]]} for name, (a, b) in both.items()]
    cases = rows + [{"name": name, "status": "Passed", "bandwidth_matrix": [[f"{v * first:g}", f"{v * second * 1.1:.6g}"]]} for name, v in host.items()]
    # Reading, the row acts and takes from the column: row A is our column A's target.
    peers = {"device_to_device_memcpy_read_ce": (380 * 1.1, 380), "device_to_device_memcpy_write_ce": (390, 390 * 1.1),
             "device_to_device_memcpy_read_sm": (360, 360 * 1.1), "device_to_device_memcpy_write_sm": (350, 350 * 1.1),
             "device_to_device_latency_sm": (826, 826 * 1.1)}
    cases += [{"name": name, "status": "Passed", "bandwidth_matrix": pair(*v)} for name, v in peers.items()]
    totals = {"device_to_device_bidirectional_memcpy_write_ce": 770, "device_to_device_bidirectional_memcpy_write_sm": 700,
              "device_to_device_bidirectional_memcpy_read_sm": 710, "device_to_device_bidirectional_memcpy_read_ce": 760}
    cases += [{"name": name, "status": "Passed", "bandwidth_matrix": pair(v / 2, v / 2) * 2 + pair(v, v)} for name, v in totals.items()]
    return json.dumps({"nvbandwidth": {"CUDA Runtime Version": 13000, "testcases": cases}})


BABELSTREAM = """BabelStream
Version: 5.0
CUDA Driver: 13000
function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime
Copy,50,33554432,8,4e+06,0.000134,0.000136,0.000135
Triad,50,33554432,8,4.1e+06,0.000196,0.000198,0.000197
Dot,50,33554432,8,4.2e+06,0.000127,0.000129,0.000128
"""


class Rig:
    """The three programs in a folder; each writes its arguments behind those of its earlier calls."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.says("probe", berth())
        self.says("nvbandwidth", nvbandwidth())
        self.says("babelstream", BABELSTREAM)

    def says(self, name, text, status=0):
        (self.folder / f"{name}.out").write_text(text)
        program = self.folder / name
        program.write_text(f'#!/bin/sh\necho "$CUDA_DEVICE_ORDER" "$@" >>"$0.calls"\ncat "$0.out"\nexit {status}\n')
        program.chmod(0o755)

    def says_in_turn(self, name, *texts, calls):
        """Each text for so many calls."""
        for number, text in enumerate(texts):
            (self.folder / f"{name}.{number}").write_text(text)
        turns = "".join(f"{number} " * count for number, count in enumerate(calls))
        (self.folder / f"{name}.turns").write_text(turns)
        program = self.folder / name
        program.write_text('#!/bin/sh\nread -r turn rest <"$0.turns"\necho "$rest" >"$0.turns"\ncat "$0.$turn"\n')

    def calls(self, name):
        file = self.folder / f"{name}.calls"
        return file.read_text().splitlines() if file.exists() else []

    def compare(self, references=True, *more, rounds=2, cells=True):
        command = [sys.executable, str(COMPARE), "--probe", str(self.folder / "probe"), "--rounds", str(rounds), *(["--cells"] if cells else []), *more]
        if references:
            command += ["--nvbandwidth", str(self.folder / "nvbandwidth"), "--babelstream", str(self.folder / "babelstream")]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def row(out, what, source, target):
    """(ours, theirs, ratio, verdict) of a row as printed."""
    for line in out.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if cells[:3] == [what, source, target]:
            return cells[4], cells[5], cells[7], cells[10] if len(cells) > 10 else ""
    raise AssertionError(f"no row {what} {source} {target} in\n{out}")


def with_rig(test):
    """The test, with a rig of its own."""
    @functools.wraps(test)
    def run():
        with tempfile.TemporaryDirectory() as folder:
            test(Rig(folder))
    return run


def all_equal(rig):
    done = rig.compare()
    assert done.returncode == 0, done.stdout + done.stderr
    out = done.stdout
    assert row(out, "host to gpu, copy engine", "numa0", A)[:3] == ("55.00", "55.00", "1.000"), out
    assert row(out, "host to gpu, copy engine", "numa0", B)[:2] == ("60.50", "60.50")
    assert row(out, "gpu to gpu, copy engine, write", B, A) == ("429.00", "429.00", "1.000", "met")
    assert row(out, "gpu to gpu, copy engine, read", B, A)[:3] == ("418.00", "418.00", "1.000")
    assert row(out, "gpu to gpu, copy engine, both", A, B)[:3] == ("770.00", "770.00", "1.000")
    assert row(out, "gpu to gpu, kernel, pull", A, B)[:2] == ("360.00", "360.00")
    assert row(out, "gpu to gpu, kernel, into registers", B, A)[:3] == ("407.00", "396.00", "1.028")
    assert row(out, "latency of host memory, 2 MiB", A, "numa0")[:2] == ("1100", "1165")
    assert row(out, "both directions at once, copy engine", A, "numa0")[:3] == ("95.00", "95.00", "1.000")
    assert row(out, "all gpus to host at once, copy engine", B, "host")[:2] == ("42.00", "45.10")
    assert row(out, "gpu to gpu, copy engine, read, both", A, B) == ("760.00", "760.00", "1.000", "met")
    assert row(out, "both directions at once, kernel", A, "host") == ("91.00", "91.00", "1.000", "met")
    assert row(out, "both directions at once, kernel", B, "host")[:2] == ("101.00", "101.00")
    assert row(out, "all gpus and host at once, both directions, copy engine", B, "host")[:3] == ("66.00", "66.00", "1.000")
    assert row(out, "all gpus to host at once, kernel", A, "host") == ("37.00", "37.00", "1.000", "met")
    assert row(out, "host to all gpus at once, kernel", "host", B) == ("36.00", "36.00", "1.000", "met")
    assert row(out, "all gpus and host at once, both directions, kernel", A, "host") == ("42.00", "42.00", "1.000", "met")
    for title, to_a, to_b in (("all to one, copy engine, by the senders", "391.00", "390.00"), ("all to one, copy engine, by the receiver", "381.00", "380.00"),
                              ("all to one, kernels of the senders", "351.00", "350.00"),
                              ("all to one, kernels of the senders, beside the case of reading", "351.00", "350.00")):
        assert row(out, title, "others", A) == (to_a, to_a, "1.000", "met") and row(out, title, "others", B)[0] == to_b, title
    for title, of_a, of_b in (("one to all, copy engine, by the sender", "390.00", "391.00"), ("one to all, copy engine, by the receivers", "380.00", "381.00"),
                              ("one to all, kernels of the sender", "350.00", "351.00"),
                              ("one to all, kernels of the sender, beside the case of reading", "350.00", "351.00")):
        assert row(out, title, A, "others") == (of_a, of_a, "1.000", "met") and row(out, title, B, "others")[0] == of_b, title
    assert row(out, "own memory: copy beside nvbandwidth's local copy", B, B) == ("4180.00", "4400.00", "0.950", "met")
    assert row(out, "own memory: bs4 beside BabelStream's Dot, its best", A, A) == ("4200.00", "4200.00", "1.000", "met")
    assert row(out, "own memory: bs4 beside BabelStream's Dot, its mean", A, A)[:3] == ("4200.00", "4167.19", "1.008")
    assert "targets not met: 0; cells of the reference that berth has no value for: 0" in out
    assert re.search(r"quick profile, 2 gpus, the slowest: 0\.\d\d s after starting the driver, target 5 s: met", out), out


def calls_are_right(rig):
    rig.compare(rounds=3)
    probe, theirs, streams = rig.calls("probe"), rig.calls("nvbandwidth"), rig.calls("babelstream")
    assert [c for c in probe if c == "PCI_BUS_ID --profile quick"] == ["PCI_BUS_ID --profile quick"] * 3, probe
    assert sum("--metrics gpu_stream" in c for c in probe) == 3 and sum("--metrics memory_latency" in c for c in probe) == 1 and len(probe) == 8, probe
    assert sum("--metrics host_gpu_kernel_concurrent,gpu_gpu_kernel_concurrent" in c for c in probe) == 1, probe
    assert len(theirs) == 3 and all(c.startswith("PCI_BUS_ID -j -i 1 -t host_to_device_memcpy_ce ") for c in theirs), theirs
    assert ["latency" in c for c in theirs] == [True, False, False], theirs
    assert len(theirs[0].split()) == 5 + 35 and "all_to_one_read_sm" in theirs[0] and "multinode" not in theirs[0], "each case for one node, once"
    assert len(streams) == 2 and sum("--device 1" in c for c in streams) == 1 and all("--csv" in c for c in streams), streams


def rounds_are_told_apart(rig):
    rig.says_in_turn("probe", berth(kernel=0.97), berth(kernel=0.98), berth(kernel=0.99), calls=[4, 2, 2])
    done = rig.compare(rounds=3)
    assert done.returncode == 1 and row(done.stdout, "host to gpu, kernel", "numa0", A) == ("49.00", "50.00", "0.980", "NOT met"), done.stdout
    assert "0.970..0.990" in done.stdout
    for middle, status in ((0.995, 1), (1.001, 0)):
        rig.says_in_turn("probe", berth(kernel=0.99), berth(kernel=middle), berth(kernel=1.002), calls=[4, 2, 2])
        assert rig.compare(rounds=3).returncode == status, "the median of the rounds decides"


def short_table_has_the_worst(rig):
    rig.says("nvbandwidth", nvbandwidth(first=1.0, second=1.05))
    done = rig.compare(cells=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("host to gpu, copy engine")]
    assert done.returncode == 1 and len(lines) == 1, done.stdout
    assert re.split(r" {2,}", lines[0])[1:8] == ["numa0", B, "2", "60.50", "63.52", "GB/s", "0.952"] and lines[0].endswith("NOT met"), lines


def slow_is_found(rig):
    rig.says("probe", berth(engine=0.98))
    done = rig.compare()
    assert done.returncode == 1
    assert row(done.stdout, "host to gpu, copy engine", "numa0", A) == ("53.90", "55.00", "0.980", "NOT met")
    rig.says("probe", berth(engine=1.02))  # as wrong: what is faster than the link says that something else is timed
    assert row(rig.compare().stdout, "host to gpu, copy engine", "numa0", A)[3] == "NOT met"
    rig.says("probe", berth(kernel=0.99))
    done = rig.compare()
    assert done.returncode == 1
    assert row(done.stdout, "gpu to gpu, kernel, write", A, B)[3] == "NOT met" and row(done.stdout, "host to gpu, copy engine", "numa0", A)[3] == "met"
    rig.says("probe", berth(stream=0.97))
    assert row(rig.compare().stdout, "own memory: bs1 beside BabelStream's Copy, its best", A, A)[3] == "NOT met"
    rig.says("probe", berth(stream=0.94))
    assert row(rig.compare().stdout, "own memory: copy beside nvbandwidth's local copy", A, A)[3] == "NOT met"


def missing_is_found(rig):
    rig.says("probe", "".join(line + "\n" for line in berth().splitlines() if '"operation": "pull"' not in line or '"both"' in line))
    done = rig.compare()
    assert done.returncode == 1
    assert row(done.stdout, "gpu to gpu, kernel, pull", A, B) == ("-", "360.00", "-", "no value"), done.stdout
    assert "berth has no value for: 2" in done.stdout


def alone(rig):
    done = rig.compare(False)
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "host to gpu, copy engine", "numa0", A)[:2] == ("55.00", "-")
    assert not rig.calls("nvbandwidth") and not rig.calls("babelstream")
    assert "two quick runs, bandwidths:" in done.stdout and "0 more than 1%" in done.stdout


def small_sizes_are_times(rig):
    """Two runs: sizes dominated by start-up are compared as times, within 5 %; rates as bandwidths,
    within 1 %.
    """
    def with_sizes(*medians):
        sizes = [{"bytes": size, "median_ns": ns, "n": 9} for size, ns in zip((4096, 262144, 1 << 20), medians)]
        return berth().replace('{"record": "end"', json.dumps({"record": "value", "metric": "gpu_gpu_kernel", "from": A, "to": B, "axes": {"operation": "write"}, "samples": sizes}) +
                               '\n{"record": "end"')
    rig.says_in_turn("probe", with_sizes(3000, 4000, 8000), with_sizes(3100, 4300, 8200), calls=[4, 4])
    out = rig.compare(False).stdout
    bandwidths, times = (next(line for line in out.splitlines() if line.startswith(f"two quick runs, {what}:")) for what in ("bandwidths", "times"))
    assert times.endswith(", 1 more than 5%") and "worst 6.98% (gpu_gpu_kernel" in times and "bytes=262144" in times, times
    assert bandwidths.endswith(", 2 more than 1%") and "operation=write" in bandwidths, bandwidths  # 1 MiB, and the top that it gives


def runs_agree_by_kind(rig):
    """gpu_agree.py prints differences by kind of cell, the number beyond the limit, and sets by
    their sum.
    """
    agree = COMPARE.with_name("gpu_agree.py")
    names = [str(rig.folder / name) for name in ("a", "b", "c")]
    for name, text in zip(names, (berth(), berth(), berth(kernel=1.02))):
        pathlib.Path(name).write_text(text)

    def said(*paths):
        return subprocess.run([sys.executable, str(agree), *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    same = said(*names[:2])
    assert same.returncode == 0 and "| none |" in same.stdout and "by more than 1% |" in same.stdout, same.stdout
    far = said(*names[1:])
    lines = {line.split(" | ")[0].lstrip("| "): line.split(" | ")[1:] for line in far.stdout.splitlines()}
    assert far.returncode == 1 and lines["`gpu_gpu_kernel` `operation=pull`, GPU and GPU"] == ["2", "2.00%", "+2.0%", "2 |"], far.stdout
    assert lines["`host_gpu_kernel_concurrent`, sets, both directions, together"][:3] == ["3", "2.00%", "+2.0%"], far.stdout
    assert lines["`gpu_gpu_copy_engine_concurrent`, sets, alone, together"][3] == "none |", far.stdout
    assert said(names[0]).returncode == 64


def failures(rig):
    rig.says("nvbandwidth", "CUDA error\n", status=3)
    done = rig.compare()
    assert done.returncode == 70 and "nvbandwidth ended with 3: CUDA error" in done.stderr, done
    rig.says("probe", berth().replace('"complete"', '"failed"'))
    done = rig.compare(False)
    assert done.returncode == 70 and "did not end well" in done.stderr, done
    done = rig.compare(False, "--probe", str(rig.folder / "none"))
    assert done.returncode == 70 and "No such file" in done.stderr, done


TESTS = [with_rig(test) for test in (all_equal, calls_are_right, rounds_are_told_apart, short_table_has_the_worst, slow_is_found, missing_is_found, alone, small_sizes_are_times, runs_agree_by_kind, failures)]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
