"""What monitors run, by their documented contracts: a monitoring plugin, a check of NHC, a custom plugin of the node-problem-detector. Prints TAP."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES  # noqa: E402
from fake_daemon import check_reply, fake_daemon  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

ETC = pathlib.Path(__file__).resolve().parent.parent.parent / "etc"
PLUGIN = ETC / "node-problem-detector/berth-health"

# Performance data of the Monitoring Plugins' guidelines: 'label'=value[unit];[warn];[crit];[min];[max]. Quotes only where a label has a space, = or '.
NUMBER, RANGE = r"-?[0-9]+(\.[0-9]+)?", r"(@?(~|-?[0-9.]+)?:?(-?[0-9.]+)?)?"
DATUM = re.compile(rf"([^ ='|]+|'[^'|\n]+')={NUMBER}(us|ms|s|%|B|KB|MB|TB|c)?(;{RANGE}){{0,2}}(;({NUMBER})?){{0,2}}")
WORDS = {0: "OK", 1: "WARNING", 2: "CRITICAL", 3: "UNKNOWN"}


def run(*command, socket=None, **environment):
    path = f"{BIN}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "BERTH_SOCKET": socket or "/nonexistent/berth", **environment}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


def plugin(*words, **more):
    """Status, text and performance data of the plugin: one line of the contract."""
    status, out, errors = run(BIN / "berth", *words, **more)
    assert errors == "" and out.endswith("\n") and out.count("\n") == 1 and out.count("|") <= 1, (words, out, errors)
    assert status in WORDS and out.startswith(WORDS[status] + " - "), (words, status, out)
    text, _, data = out[:-1].partition(" | ")
    assert all(DATUM.fullmatch(datum) for datum in data.split()), data
    return status, text.split(" - ", 1)[1], dict(datum.split("=") for datum in data.split())


def a_verdict_is_a_status():
    for verdict, status, severities, drain in (("healthy", 0, [], False), ("healthy", 0, ["info"], False), ("degraded", 1, ["warning", "info"], False),
                                              ("unhealthy", 2, ["critical", "warning", "warning"], True), ("unknown", 3, [], False)):
        with fake_daemon(check_reply(verdict, drain=drain, findings=severities, last_probe_at_s=int(time.time()) - 90)) as socket:
            found, text, data = plugin("health", "--nagios", socket=socket)
        assert found == status and text.startswith(f"{verdict}: said by a test"), (verdict, found, text)
        assert text.endswith("berth advises to drain this node") == drain, text
        counts = {severity: int(data[severity].split(";")[0]) for severity in ("critical", "warning", "info")}
        assert counts == {severity: severities.count(severity) for severity in counts}, (severities, data)
        assert data["drain"].startswith(str(int(drain))) and 90 <= int(data["measured_age"].split("s")[0]) < 150, data


def recorded_nodes_say_that_they_are():
    assert plugin("--node", NODES / "h200x4", "health", "--nagios")[:2] == (0, "healthy: 3046 measured values, none out of line (recorded node)")
    status, text, data = plugin("--node", NODES / "mi250x", "health", "--nagios", "gpu1")
    assert (status, text) == (3, "unknown: nothing has been measured there (reconstructed node)") and "measured_age" not in data, text


def every_error_is_unknown():
    for words, said in ((["health", "--nagios"], "no daemon at /nonexistent/berth"), (["health", "--nagios", "--json"], "--nagios is one line"),
                        (["health", "--nagios", "--load", "3m"], "--nagios is one line"), (["health", "--bogus", "--nagios"], "no option --bogus"),
                        (["--bogus", "health", "--nagios"], "no option --bogus"), (["--socket", "", "health", "--nagios"], "--socket takes a path"),
                        (["--node", "/nonexistent|x", "health", "--nagios"], "cannot open the node folder /nonexistent/x"),
                        (["--node", str(NODES / "mi250x"), "health", "--nagios", "gpu9"], "this node has no place gpu9")):
        status, text, data = plugin(*words)
        assert status == 3 and said in text and data == {}, (words, text)
    with fake_daemon({"verdict": 3}) as socket:
        assert plugin("health", "--nagios", socket=socket)[0] == 3
    for word in ("--help", "--version"):
        assert run(BIN / "berth", "health", "--nagios", word)[0] == 3


def a_hung_daemon_costs_ten_seconds():
    with fake_daemon(None) as socket:
        begin = time.monotonic()
        status, text, _ = plugin("health", "--nagios", socket=socket)
        took = time.monotonic() - begin
    assert (status, text) == (3, "no answer within 10 s") and 9.9 < took < 20, (status, text, took)


def text_of_others_breaks_no_line():
    with fake_daemon(check_reply("unhealthy", "unhealthy: a|b\nc' drain=1; \u202e\x1b[0m", findings=["critical"])) as socket:
        status, text, data = plugin("health", "--nagios", socket=socket)
        assert status == 2 and "a/b?c" in text and "\x1b" not in text and "\u202e" not in text and data["drain"].startswith("0;"), (text, data)
        assert run(PLUGIN, "drain", socket=socket)[0] == 0


# The functions of NHC that a check may call, as NHC's README describes them: a harness, not NHC. As in NHC, die puts its text between quotes of a shell.
HARNESS = """
set -f
log() { echo "log: $*"; }
die() { local RET=$1; shift; eval echo died "$RET" "'$*'"; return 0; }
. %s
check_berth_health %s
echo "returned $?"
"""


def harness(*words, **more):
    status, out, errors = run("bash", "-c", HARNESS % (ETC / "nhc/berth.nhc", " ".join(words)), **more)
    assert (status, errors) == (0, ""), (out, errors)
    said, returned = out.rsplit("returned ", 1)
    return int(returned), said.strip()


CASES = [("healthy", False), ("degraded", False), ("unhealthy", False), ("unhealthy", True), ("unknown", False)]
# Level: which of the cases fail.
FAILS = {"": [3], "drain": [3], "unhealthy": [2, 3], "degraded": [1, 2, 3], "unknown": [1, 2, 3, 4]}


def a_check_of_nhc_in_a_harness():
    for number, (verdict, drain) in enumerate(CASES):
        with fake_daemon(check_reply(verdict, drain=drain)) as socket:
            for level, fails in FAILS.items():
                returned, said = harness(level, socket=socket)
                assert returned == (number in fails), (level, verdict, drain, said)
                assert bool(re.match("died 1 check_berth_health:  .*said by a test", said)) == (number in fails), (level, said)
                assert said == "" if verdict == "healthy" else said.startswith(("died", "log: check_berth_health:  ")), said
    for environment in ({}, {"BERTH": "/nonexistent/berth"}):
        assert harness(**environment)[0] == 0 and harness("unknown", **environment)[0] == 1
        assert harness(**environment)[1].startswith("log: check_berth_health:  the health of the fabric is not known:  "), harness(**environment)
    assert harness("often")[0] == 1
    with fake_daemon(check_reply("unhealthy", "unhealthy: '; echo broken out; '", drain=True)) as socket:
        assert "died 1 check_berth_health:  CRITICAL - unhealthy: ; echo broken out;" in harness(socket=socket)[1]


def the_check_under_nhc_itself():
    nhc = os.environ.get("NHC") or shutil.which("nhc")
    if nhc is None:
        raise LeftOut("NHC is not here; Debian has no package of it, and NHC= names one")
    with tempfile.TemporaryDirectory(prefix="berth-nhc-") as folder:
        folder = pathlib.Path(folder)
        (folder / "scripts").mkdir()
        for file in (*pathlib.Path(nhc).resolve().parent.glob("scripts/*.nhc"), ETC / "nhc/berth.nhc"):
            shutil.copy(file, folder / "scripts")
        for number, (verdict, drain) in enumerate(CASES):
            with fake_daemon(check_reply(verdict, "it's " + verdict, drain=drain)) as socket:
                for level, fails in FAILS.items():
                    (folder / "nhc.conf").write_text(f"* || check_berth_health {level}\n")
                    status, out, errors = run("bash", nhc, "-D", folder, "-c", folder / "nhc.conf", "-l", "-", "MARK_OFFLINE=0", f"BERTH={BIN}/berth",
                                              f"HELPERDIR={folder}", f"RESULTFILE={folder}/r", socket=socket)
                    assert status == (number in fails) and (("Health check failed:  check_berth_health:  " in out + errors) == (number in fails)), (level, verdict, drain, status, out, errors)


def a_plugin_of_the_node_problem_detector():
    for number, (verdict, drain) in enumerate(CASES):
        with fake_daemon(check_reply(verdict, "\u00e9" * 60 + "x" * 300, drain=drain)) as socket:
            for level in ("drain", "unhealthy", "degraded"):
                status, out, errors = run(PLUGIN, level, socket=socket)
                assert status == (2 if verdict == "unknown" else int(number in FAILS[level])), (level, verdict, drain, status)
                assert errors == "" and out.isascii() and out.count("\n") == 1 and 0 < len(out) <= 201, out
    for words, environment in ((["drain"], {}), (["drain"], {"BERTH": "/nonexistent/berth"}), ([], {}), (["often"], {})):
        status, out, _ = run(PLUGIN, *words, **environment)
        assert status == 2 and 1 < len(out) <= 201, (words, status, out)
    assert run("env", "-i", f"BERTH={BIN}/berth", PLUGIN, "drain")[0] == 2


# Fields that the node-problem-detector reads from the file of a custom plugin (its docs/custom_plugin_monitor.md), and their types.
FIELDS = {"plugin": str, "pluginConfig": dict, "source": str, "metricsReporting": bool, "conditions": list, "rules": list}
GLOBAL = {"invoke_interval": str, "timeout": str, "max_output_length": int, "concurrency": int, "enable_message_change_based_condition_update": bool,
          "skip_initial_status": bool}
CONDITION = {"type": str, "reason": str, "message": str}
RULE = {"type": str, "condition": str, "reason": str, "path": str, "args": list, "timeout": str, "invoke_interval": str}


def typed(value, fields):
    assert value.keys() <= fields.keys(), value.keys() - fields.keys()
    assert all(type(its) is fields[key] for key, its in value.items()), value


def seconds(text):
    return sum(int(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in re.findall(r"([0-9]+)([hms])", text))


def the_configuration_of_the_node_problem_detector():
    configuration = json.loads((PLUGIN.parent / "berth.json").read_text())
    typed(configuration, FIELDS)
    typed(configuration["pluginConfig"], GLOBAL)
    assert configuration["plugin"] == "custom"
    for condition in configuration["conditions"]:
        typed(condition, CONDITION)
        assert condition.keys() == CONDITION.keys() and re.fullmatch("[A-Z][A-Za-z]+", condition["type"])
    known = {condition["type"] for condition in configuration["conditions"]}
    for rule in configuration["rules"]:
        typed(rule, RULE)
        assert rule["type"] == "permanent" and rule["condition"] in known and re.fullmatch("[A-Z][A-Za-z]+", rule["reason"])
        assert rule["args"][0] in FAILS and rule["path"].startswith("/usr/") and pathlib.Path(rule["path"]).name == PLUGIN.name
    assert {rule["condition"] for rule in configuration["rules"]} == known
    limits = configuration["pluginConfig"]
    assert 10 < seconds(limits["timeout"]) < seconds(limits["invoke_interval"]) and limits["max_output_length"] == 200


if __name__ == "__main__":
    sys.exit(run_tests([a_verdict_is_a_status, recorded_nodes_say_that_they_are, every_error_is_unknown, a_hung_daemon_costs_ten_seconds,
                        text_of_others_breaks_no_line, a_check_of_nhc_in_a_harness, the_check_under_nhc_itself, a_plugin_of_the_node_problem_detector,
                        the_configuration_of_the_node_problem_detector], at_once=4) > 0)
