"""What monitors run, by their documented contracts: a monitoring plugin, a check of NHC, a custom plugin of the node-problem-detector. Prints TAP."""
import contextlib
import grp
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, until  # noqa: E402
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


# A plugin of each state, for the real monitors below: the name of a service, the command's words, the status.
SERVICES = (("sound", f"{BIN}/berth --node {NODES}/h200x4 health --nagios", 0), ("unmeasured", f"{BIN}/berth --node {NODES}/mi250x health --nagios", 3),
            ("gone", f"{BIN}/berth --socket /nonexistent health --nagios", 3), ("wrong", f"{BIN}/berth health --nagios --bogus", 3))
SAID = {"sound": "OK - healthy: 3046 measured values, none out of line (recorded node)",
        "unmeasured": "UNKNOWN - unknown: nothing has been measured (reconstructed node)", "gone": "UNKNOWN - no daemon at /nonexistent", "wrong": "UNKNOWN - health: no option --bogus"}
DATA = "critical=0;;0;0 warning=0;0;;0 info=0;;;0 unconfirmed=0;;;0 drain=0;;0;0;1"


def tool(*names):
    for name in names:
        if (path := shutil.which(name)) is not None:
            return path
    raise LeftOut(f"{names[0]} is not installed; make check-monitors installs it")


@contextlib.contextmanager
def server(folder, *command):
    """A monitor of the test's, whose processes end with it; its log is shown when something fails."""
    with open(folder / "said", "ab") as log, \
         subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, cwd=folder, start_new_session=True) as process:
        try:
            yield
        except BaseException:
            print((folder / "said").read_text(errors="replace")[-2000:])
            raise
        finally:
            os.killpg(process.pid, 9)


def me():
    return pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name


def nagios_itself():
    nagios, (user, group) = tool("nagios4", "nagios"), me()
    days = "".join(f"  {day} 00:00-24:00\n" for day in ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"))
    with tempfile.TemporaryDirectory(prefix="berth-nagios-") as folder:
        folder = pathlib.Path(folder)
        (folder / "results").mkdir()
        files = "".join(f"{key}={folder}/{key}\n" for key in ("log_file", "object_cache_file", "precached_object_file", "status_file", "command_file", "query_socket",
                                                              "lock_file", "temp_file", "state_retention_file"))
        (folder / "nagios.cfg").write_text(f"{files}cfg_file={folder}/objects.cfg\ntemp_path={folder}\ncheck_result_path={folder}/results\ncheck_for_updates=0\n"
                                           f"nagios_user={user}\nnagios_group={group}\nstatus_update_interval=1\nservice_inter_check_delay_method=n\n")
        objects = f"define timeperiod {{\n  timeperiod_name always\n  alias always\n{days}}}\n" \
            "define contact {\n  contact_name nobody\n  host_notification_commands sound\n  service_notification_commands sound\n}\n" \
            "define host {\n  host_name node\n  address 127.0.0.1\n  max_check_attempts 1\n  contacts nobody\n  notifications_enabled 0\n}\n"
        for name, command, _ in SERVICES:
            objects += f"define command {{\n  command_name {name}\n  command_line {command}\n}}\ndefine service {{\n  host_name node\n  service_description {name}\n" \
                f"  check_command {name}\n  max_check_attempts 1\n  check_interval 1\n  check_period always\n  contacts nobody\n  notifications_enabled 0\n}}\n"
        (folder / "objects.cfg").write_text(objects)

        def services():
            blocks = re.findall(r"servicestatus \{(.*?)\}", (folder / "status_file").read_text() if (folder / "status_file").exists() else "", re.S)
            found = [dict(re.findall(r"^\t([a-z_]+)=(.*)$", block, re.M)) for block in blocks]
            return len(found) == len(SERVICES) and all(its["has_been_checked"] == "1" for its in found) and {its["service_description"]: its for its in found}

        with server(folder, nagios, folder / "nagios.cfg"):
            found = until(services, 30)
            assert found, "not every service was checked"
            for name, _, status in SERVICES:
                its = found[name]
                assert int(its["current_state"]) == status and its["plugin_output"].startswith(SAID[name]) and its["long_plugin_output"] == "", its
                assert its["performance_data"] == (DATA if name in ("sound", "unmeasured") else ""), its


def icinga_itself():
    icinga, (user, group) = tool("icinga2"), me()
    with tempfile.TemporaryDirectory(prefix="berth-icinga-") as folder:
        folder = pathlib.Path(folder)
        kinds = {kind: folder / kind for kind in ("DataDir", "CacheDir", "InitRunDir", "LogDir", "SpoolDir")}
        for path in kinds.values():
            path.mkdir()
        text = "include <itl>\nobject CheckerComponent \"checker\" {}\nobject Host \"node\" { check_command = \"dummy\" }\n" \
            f"object PerfdataWriter \"perf\" {{ service_perfdata_path = \"{folder}/perf\", service_temp_path = \"{folder}/perf.tmp\", rotation_interval = 1s," \
            f" host_perfdata_path = \"{folder}/hosts\", host_temp_path = \"{folder}/hosts.tmp\"," \
            " service_format_template = \"$service.name$@$service.state_id$@$service.output$@$service.perfdata$\" }\n"
        for name, command, _ in SERVICES:
            text += f"object CheckCommand \"{name}\" {{ command = {json.dumps(command.split())} }}\n" \
                f"object Service \"{name}\" {{ host_name = \"node\", check_command = \"{name}\", check_interval = 1s, retry_interval = 1s }}\n"
        (folder / "icinga2.conf").write_text(text)

        def results():
            lines = [line.split("@") for path in folder.glob("perf.[0-9]*") for line in path.read_text().splitlines()]
            found = {name: rest for name, *rest in lines}
            return len(found) == len(SERVICES) and found

        with server(folder, icinga, "daemon", "-c", folder / "icinga2.conf", f"-DConfigDir={folder}", f"-DRunAsUser={user}", f"-DRunAsGroup={group}", "-DNodeName=node",
                    *(f"-D{kind}={path}" for kind, path in kinds.items())):
            found = until(results, 30)
            assert found, "not every service was checked"
            for name, _, status in SERVICES:
                state, output, data = found[name]
                assert int(float(state)) == status and output.startswith(SAID[name]), found[name]
                assert data == (DATA if name in ("sound", "unmeasured") else ""), data


def nrpe_itself():
    nrpe, asks = tool("nrpe"), tool("/usr/lib/nagios/plugins/check_nrpe", "check_nrpe")
    user, group = ("nobody", "nogroup") if os.getuid() == 0 else me()  # it refuses to be root
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="berth-nrpe-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        (folder / "nrpe.cfg").write_text(f"server_address=127.0.0.1\nserver_port={port}\nallowed_hosts=127.0.0.1\nnrpe_user={user}\nnrpe_group={group}\npid_file={folder}/pid\n"
                                         + "".join(f"command[{name}]={command}\n" for name, command, _ in SERVICES))
        with server(folder, nrpe, "-c", folder / "nrpe.cfg", "-f"):
            for name, _, status in SERVICES:
                until(lambda: run(asks, "-H", "127.0.0.1", "-p", port)[0] == 0, 20)
                found, out, _ = run(asks, "-H", "127.0.0.1", "-p", port, "-t", "15", "-c", name)
                assert found == status and out.startswith(SAID[name]) and out.count("\n") == 1, (name, found, out)
                assert out.endswith(f" | {DATA}\n") == (name in ("sound", "unmeasured")), out


if __name__ == "__main__":
    sys.exit(run_tests([a_verdict_is_a_status, recorded_nodes_say_that_they_are, every_error_is_unknown, a_hung_daemon_costs_ten_seconds,
                        text_of_others_breaks_no_line, a_check_of_nhc_in_a_harness, the_check_under_nhc_itself, a_plugin_of_the_node_problem_detector,
                        the_configuration_of_the_node_problem_detector, nagios_itself, icinga_itself, nrpe_itself], at_once=4) > 0)
