"""Errors of the berth command: as JSON, with suggestions, and its refusals. Prints TAP."""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, Daemon  # noqa: E402
from reasons import texts  # noqa: E402
from service import Service  # noqa: E402
from tap import run_tests  # noqa: E402

NODE = NODES / "mi250x"


def berth(*arguments, socket_path="/nonexistent/berth.sock", **environment):
    """Exit status, standard output and standard error."""
    clean = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "BERTH_SOCKET": socket_path, **environment}
    done = subprocess.run([BIN / "berth", *map(str, arguments)], capture_output=True, text=True, env=clean, timeout=60)
    return done.returncode, done.stdout, done.stderr


def fails(error, **parameters):
    return json.dumps({"error": error, "parameters": parameters}).encode() + b"\0"


def an_error_is_json_too():
    """With --json standard output has the error's name and parameters.

    The line on standard error and the status are the same as without.
    """
    node = ["--node", NODES / "h200x4"]
    for words, name, parameters in (
            (["matrix", "memory_latncy"], "io.berth.Fabric.NoSuchMetric", {"metric": "memory_latncy"}),
            (["bind", "-n", "5"], "io.berth.Placement.NotEnough", {"resource": "gpus", "requested": 5, "available": 4}),
            (["health", "gpu9"], "io.berth.Health.NoSuchPlace", {"place": "gpu9"}),
            (["route", "gpu0", "gpu0", "1M"], "org.varlink.service.InvalidParameter", {"parameter": "to"}),
            (["probe"], "io.berth.Health.Unavailable", {}), (["accept"], "io.berth.Health.Unavailable", {})):
        plain, (status, out, err) = berth(*node, *words), berth(*node, "--json", *words)
        answer = json.loads(out)
        assert (plain[0], "", plain[2]) == (status, plain[1], err) and status != 0 and out.count("\n") == 1, (words, plain, status, out, err)
        assert answer["error"] == name and parameters.items() <= answer["parameters"].items() and answer["parameters"]["detail"], (words, answer)
    status, out, err = berth("--json", "health")
    assert status == 69 and json.loads(out) == {"error": "NoDaemon", "parameters": {"detail": "no daemon at /nonexistent/berth.sock"}}, (out, err)
    with Service(lambda _: [fails("io.berth.New.Thing", text="\u202e\x85\u2028\x1b")]) as service:
        status, out, err = berth("--json", "topo", socket_path=service.path)
        assert json.loads(out)["error"] == "io.berth.New.Thing", (out, err)
        assert not any(hidden in out + err for hidden in "\u202e\x85\u2028\x1b"), (out, err)


def wrong_usage_is_json_too():
    """Wherever --json stands; but not where it is another option's value or another program's."""
    for words, detail in (
            (["bind", "-n", "2", "--cpus", "0-999"], "--cpus: this node has no cpu 128; it has 0-127"), (["alloc", "1Z"], None), (["route", "gpu0"], None),
            (["bind", "--jsno"], "no option --jsno; did you mean --json?"), (["tpoo"], "no command tpoo; did you mean topo?"), ([], "no command given"),
            (["bind", "-n", "x"], None), (["claim", "gpu0", "--ttl", "1x"], None), (["topo", "b\u202e"], None)):
        plain = berth("--node", NODE, *words)
        assert (plain[0], plain[1], plain[2].count("\n")) == (64, "", 1), (words, plain)
        for line in (["--json", "--node", NODE, *words], ["--node", NODE, *words, "--json"]):
            status, out, err = berth(*line)
            answer = json.loads(out)
            assert (status, err) == (64, plain[2]) and out.count("\n") == 1, (line, status, err)
            assert answer == {"error": "Usage", "parameters": {"detail": answer["parameters"]["detail"]}}, (line, answer)
            assert answer["parameters"]["detail"] and detail in (None, answer["parameters"]["detail"]), (line, answer)
    for words in (["bind", "--jsno", "--", "--json"], ["exec", "--jsno", "true", "--json"], ["bind", "--key", "--json", "--jsno"], ["slurm", "--json"]):
        status, out, err = berth(*words)
        assert out == "" and (status == 64 or words[0] == "slurm"), (words, status, out, err)


def why_a_folder_is_no_node_is_json_too():
    status, out, err = berth("--node", "/nonexistent", "topo", "--json")
    detail = json.loads(out)["parameters"]["detail"]
    assert (status, json.loads(out)["error"], err) == (65, "NoDaemon", f"berth: {detail}\n") and "/nonexistent" in detail, (status, out, err)


def what_others_wrote_does_not_steer_the_terminal():
    """Foreign text changes neither the direction of its neighbours nor the lines.

    JSON has it unchanged.
    """
    key = "k\u202e\u2028\x1b[31m\u009b\u2066z"
    claim = {"claim": "1", "uid": 0, "key": key, "purpose": "compute", "expires_at_s": 1, "places": ["gpu0", "numa0\u202e"]}

    def serve(_):
        return [json.dumps({"parameters": {"claims": [claim]}}).encode() + b"\0"]
    with Service(serve) as service:
        _, out, err = berth("claims", socket_path=service.path)
        assert "k???[31m??z" in out and "numa0?" in out and not err, (out, err)
        assert json.loads(berth("--json", "claims", socket_path=service.path)[1])["claims"] == [claim]
    with Service(lambda _: [fails("io.berth.Placement.Conflict", by=key, detail=key)]) as service:
        status, out, err = berth("claims", socket_path=service.path)
        assert status != 0 and not out and err.isascii() and err.count("\n") == 1, (status, out, err)
    with Daemon("--node", NODE) as daemon:
        long = "\u202e" * 30  # more than a line about it has room for
        for owner in (None, os.getpid()):
            reply = daemon.call("io.berth.Placement.Claim", {"places": ["gpu1", "core0"], "purpose": "compute", "ttl_s": 60, "key": long, **({"owner_pid": owner} if owner else {})})
            assert reply, "claimed"
            _, out, err = berth("bind", "-n", "1", "--key", long, "--why", socket_path=daemon.socket)
            assert "within claim" in out and "\u202e" not in out + err, (out, err)
            _, out, err = berth("bind", "-n", "1", "--why", socket_path=daemon.socket)
            assert ("left out: " in out) == (owner is None) and "claim" in out and "\u202e" not in out + err, (out, err)
            daemon.call("io.berth.Placement.Release", {"key": long})


def what_was_probably_meant_is_named():
    for words, meant in ((["matrix", "memory_latncy"], "memory_latency"), (["history", "gpu_gpu_kernal", "gpu0", "gpu1"], "gpu_gpu_kernel"),
                         (["matrix", "gpu_gpu_kernel", "--from", "gup0"], "gpu0"), (["bind", "-n", "2", "--pattern", "rign"], "ring"),
                         (["bind", "--format", "slrum"], "slurm"), (["matrix", "--sizes"], "--size"), (["tpoo"], "topo"), (["topo", "--jsno"], "--json")):
        status, out, err = berth("--node", NODES / "h200x4", *words)
        assert status in (64, 65) and not out and err.count("\n") == 1 and f"did you mean {meant}?" in err, (words, err)
    assert "did you mean" not in berth("--node", NODES / "h200x4", "matrix", "nonsense")[2]


def what_the_node_does_not_have_is_not_allowed():
    for words in (["bind", "-n", "1"], ["alloc", "1G"], ["route", "gpu0", "gpu1", "1M"]):
        status, out, err = berth("--node", NODE, *words, "--cpus", "0-999")
        assert (status, out) == (64, "") and "--cpus: this node has no cpu 128; it has 0-127" in err, (words, out, err)
        status, out, err = berth("--node", NODE, *words, "--cpus", "0-127")
        assert status == 0, (words, err)
    for gpus, said in (("0-99", "no place gpu8; of that kind it has gpu0 to gpu7"), ("0,3,0-1", "--gpus has gpu0 twice"), ("gpu1,1", "--gpus has gpu1 twice")):
        status, out, err = berth("--node", NODE, "bind", "-n", "1", "--gpus", gpus)
        assert status in (64, 65) and not out and said in err, (gpus, err)


def a_pattern_has_a_size_and_too_many_tasks_a_way_out():
    reply = json.loads(berth("--node", NODE, "--json", "bind", "-n", "4", "--pattern", "ring")[1])
    same = json.loads(berth("--node", NODE, "--json", "bind", "-n", "4", "--pattern", "ring", "--bytes", "64M")[1])
    assert reply["predicted"] == same["predicted"] and reply["tasks"] == same["tasks"], (reply["predicted"], same["predicted"])
    assert any("bytes is not given" in line for line in texts(reply, "warnings")) and not any("bytes is not given" in line for line in texts(same, "warnings")), texts(reply, "warnings")
    host = json.loads(berth("--node", NODE, "--json", "bind", "-n", "4", "--pattern", "ring", "--host-bytes", "1G")[1])
    both = json.loads(berth("--node", NODE, "--json", "bind", "-n", "4", "--pattern", "ring", "--host-bytes", "1G", "--bytes", "1G")[1])
    assert host["predicted"] == both["predicted"], host["predicted"]
    status, _, err = berth("--node", NODE, "bind", "-n", "12")
    assert status == 65 and err.endswith(": berth bind -n 12 --tasks-per-gpu 2\n") and err.count("\n") == 1, err
    assert berth("--node", NODE, "bind", "-n", "12", "--tasks-per-gpu", "2")[0] == 0


def times_have_one_unit():
    for locale, right, wrong in (("C.UTF-8", "\u00b5s", " us"), ("C", " us", "\u00b5")):
        out = berth("--node", NODES / "h200x4", "route", "gpu0", "gpu1", "64K", LANG=locale, LC_ALL=locale)[1]
        assert right in out and not re.search(wrong + r"\b", out), (locale, out)


TESTS = [an_error_is_json_too, wrong_usage_is_json_too, why_a_folder_is_no_node_is_json_too, what_others_wrote_does_not_steer_the_terminal,
         what_was_probably_meant_is_named, what_the_node_does_not_have_is_not_allowed,
         a_pattern_has_a_size_and_too_many_tasks_a_way_out, times_have_one_unit]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
