"""Programs on virtual nodes: tests/standin."""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("BIN", HERE.parent / "build/bin")).resolve()
STANDIN = BIN.parent / "standin"
NODES = HERE / "standin/nodes"
RUN = HERE / "standin/run.sh"


@contextlib.contextmanager
def described(name, *lines):
    """The description of a node with these lines added."""
    with tempfile.NamedTemporaryFile("w", suffix=".node") as file:
        file.write(f"include {NODES / name}.node\n" + "".join(line + "\n" for line in lines))
        file.flush()
        yield file.name


def command(node, *arguments):
    return [RUN, node, BIN / "berth-probe-gpu", *arguments]


ENVIRONMENT = {**os.environ, "STANDIN": str(STANDIN)}


def measured(node, *arguments, status=0, **variables):
    """Records of a whole run, with these variables added to the environment."""
    done = subprocess.run(command(node, *arguments), capture_output=True, text=True,
                          env={**ENVIRONMENT, **variables}, timeout=250)
    assert done.returncode == status, (done.returncode, done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def ended(records, status="complete"):
    """Returns the records, and checks that they are of a whole run of the stand-in with that
    status.
    """
    assert records[0]["record"] == "run" and records[-1]["record"] == "end", records[-1]
    assert records[-1]["status"] == status, records[-1]
    assert records[0]["backend"] == "standin", records[0]
    return records


def refused(node, *arguments):
    """Checks for one line about wrong usage, and returns it."""
    done = subprocess.run(command(node, *arguments), capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=60)
    is_refused = done.returncode == 64 and done.stdout == "" and done.stderr.count("\n") == 1
    assert is_refused, (arguments, done.returncode, done.stdout[:200], done.stderr)
    return done.stderr


def put_in(node, sets):
    """Described rates of sets of flows, each a list of (mechanism, how, kind, from, to).

    Returns lists of (bytes/s, ns).
    """
    text = "".join(";".join(" ".join(flow) for flow in flows) + "\n" for flows in sets)
    done = subprocess.run([STANDIN / "paths", node], input=text, capture_output=True, text=True,
                          check=True)
    return [[tuple(float(number) for number in flow.split()) for flow in line.split(";")]
            for line in done.stdout.splitlines()]


@contextlib.contextmanager
def probe_folder(node):
    """A folder of probes for the daemon, with the real berth-probe-gpu on the virtual node; the
    other probes are the real ones.
    """
    with tempfile.TemporaryDirectory(prefix="berth-probe-") as folder:
        for program in BIN.glob("berth-probe-*"):
            (pathlib.Path(folder) / program.name).symlink_to(program)
        wrapper = pathlib.Path(folder) / "berth-probe-gpu"
        wrapper.unlink()
        words = " ".join(str(part) for part in command(node))
        wrapper.write_text(f"#!/bin/sh\nSTANDIN={STANDIN} exec {words} \"$@\"\n")
        wrapper.chmod(0o755)
        yield folder
