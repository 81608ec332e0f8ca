"""tests/bench/gpu_curves on virtual nodes: a curve that predicts other sizes, and one that fails.

Prints TAP.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from tap import run_tests  # noqa: E402

TESTS = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
METRICS = "host_gpu_copy_engine,gpu_gpu_copy_engine,gpu_gpu_kernel"
PLACES = "0000:00:06.0"


def run(*command):
    return subprocess.run([str(TESTS / "standin" / "run.sh"), "h200x4", *map(str, command)], env={**os.environ, "STANDIN": str(BUILD.resolve() / "standin")},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120)


@functools.lru_cache(1)
def measured_lines():
    done = run((BUILD / "bin/berth-probe-gpu").resolve(), "--metrics", METRICS, "--places", PLACES)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def measured():
    return [json.loads(line) for line in measured_lines()]


def judge(records):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
        file.flush()
        return run((BUILD / "bench/gpu_curves").resolve(), file.name)


def curves(records):
    return [r for r in records if r.get("samples")]


def what_was_not_measured_is_said():
    records = measured()
    done = judge(records)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if " queued " in line]
    assert len(lines) == len(curves(records)) >= 10, done.stdout
    for what in ("queued", "called"):
        assert re.search(rf"^{what}, \d+ sizes: median 0\.\d %, 95th percentile 0\.\d %, .*: met$", done.stdout, re.M), done.stdout


def single_calls_are_counted():
    records = measured()
    lies = re.search(r"^single calls, (\d+): (\d+\.\d) % within what the record says of 95 %$", judge(records).stdout, re.M)
    assert lies and int(lies[1]) % 40 == 0 and int(lies[1]) >= 40 * len(curves(records)), "each size is called 40 times"
    for record in curves(records):
        record["t0_call_low_ns"] -= 0.2 * record["t0_call_ns"]
        record["t0_call_high_ns"] += 0.2 * record["t0_call_ns"]
    assert re.search(r"^single calls, \d+: 100\.0 % within", judge(records).stdout, re.M)
    for record in curves(records):
        for key in ("t0_call_low_ns", "t0_call_high_ns", "t0_call_n"):
            del record[key]
    assert "single calls" not in judge(records).stdout, "a record of before they were kept"


def wrong_curves_are_found():
    records = measured()
    for record in curves(records):
        for sample in record["samples"]:
            for key in ("median_ns", "low_ns", "high_ns"):
                sample[key] *= 1.04
    done = judge(records)
    assert done.returncode == 1 and re.search(r"^queued, .*median (3|4)\.\d %.*NOT met$", done.stdout, re.M), done.stdout


def wrong_overheads_are_found():
    records = measured()
    for record in curves(records):
        record["t0_call_ns"] *= 3
    done = judge(records)
    assert done.returncode == 1, done.stdout
    assert re.search(r"^queued, .*: met$", done.stdout, re.M) and re.search(r"^called, .*NOT met$", done.stdout, re.M), done.stdout


def bad_input():
    done = judge([])
    assert done.returncode == 70 and "no curve" in done.stderr, (done.returncode, done.stderr)
    done = run((BUILD / "bench/gpu_curves").resolve(), "/nonexistent")
    assert done.returncode == 64 and "gpu_curves RECORD" in done.stderr, done.stderr


sys.exit(run_tests([what_was_not_measured_is_said, single_calls_are_counted, wrong_curves_are_found, wrong_overheads_are_found, bad_input]))
