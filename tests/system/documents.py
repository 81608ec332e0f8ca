#!/usr/bin/env python3
"""Manual pages and shell completion against the options of the programs. Prints TAP."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "lib"))
import reasons
import sentences
from berthd import BIN, NODES, Daemon
from tap import LeftOut, run_tests

MAN = BIN.parent / "man"
COMPLETION = BIN.parent / "completion"
PAGES = ("berth.1", "berthd.8", "berth.conf.5", "libberth.3")


def said(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def commands():
    """The commands by name, with their options, as the help has them."""
    listed = re.search(r"Commands\n(.*?)\n\n", said(BIN / "berth", "--help"), re.S)[1]
    names = re.findall(r"^  (\S+)  ", listed, re.M)
    return {name: options(said(BIN / "berth", "help", name).split("Options of every command")[0]) for name in names}


def options(text):
    return re.findall(r"^  (?:(-\w), |    )(--[a-z-]+)", text, re.M)


def rendered(page):
    """A page as a reader sees it, in one line, or left out when nothing can show it."""
    if shutil.which("mandoc") is None:
        raise LeftOut("mandoc is not here; make check installs it")
    text = said("mandoc", "-T", "utf8", "-O", "width=500", MAN / page)
    return re.sub(r"\s+", " ", re.sub(".\b", "", text))


def tools_find_nothing_wrong_with_the_pages():
    for page in PAGES:
        rendered(page)
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", MAN / page], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout == "", done.stdout
        assert "@" not in (MAN / page).read_text(), page
        if shutil.which("man") is not None and shutil.which("groff") is not None:
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", MAN / page], capture_output=True, text=True,
                                  env={**os.environ, "MANROFFSEQ": "", "LC_ALL": "C.UTF-8"})
            assert done.returncode == 0 and done.stderr == "", done.stderr


def every_page_that_is_named_is_there():
    for page in PAGES:
        for name, section in re.findall(r"^\.Xr (\S+) (\d)", (MAN / page).read_text(), re.M):
            assert f"{name}.{section}" in PAGES or name.startswith("systemd"), (page, name, section)


def berth_1_has_every_command_and_option():
    text, table = rendered("berth.1"), commands()
    assert {"bind", "alloc", "route", "health", "status", "help"} <= set(table) and len(table["bind"]) > 10, table
    for name, its in table.items():
        assert f" berth {name} " in text, name
        for letter, word in its:
            assert f" {letter + ', ' if letter else ''}{word} " in text, (name, word)
    for word in options(said(BIN / "berth", "help", "topo")):
        assert word[1] in text


def berth_1_says_of_each_what_the_help_says():
    """Nothing is lost to roff on the way."""
    text = rendered("berth.1").replace(" ", "")
    for name in commands():
        usage = re.sub(r"\s+", "", said(BIN / "berth", "help", name).split("\n")[0].split(": ", 1)[1])
        assert usage in text, usage
        notes = re.split(r"  show the version\n|: man berth\.\n", said(BIN / "berth", "help", name))[1]
        assert re.sub(r"\s+", "", notes) in text, notes


def berthd_8_has_every_option():
    text = rendered("berthd.8")
    its = re.findall(r"--[a-z-]+", said(BIN / "berthd", "--help"))
    assert len(its) >= 8, its
    for word in its:
        assert f" {word} " in text, word


def berth_conf_5_has_every_key_and_default():
    text = rendered("berth.conf.5")
    environment = {name: value for name, value in os.environ.items() if name != "STATE_DIRECTORY"}
    lines = said(BIN / "berthd", "--config", "/dev/null", "--check-config", env=environment).splitlines()
    pairs = list(zip(lines[::2], lines[1::2]))
    assert len(pairs) > 30 and all(about.startswith("# ") for about, _ in pairs), lines
    for about, key in pairs:
        assert f" {key.removesuffix(' = ')} {about[2:]}" in text, (key, about)


def libberth_3_has_every_function():
    text = rendered("libberth.3")
    header = re.sub(r"\s+", " ", (ROOT / "client/lib/berth.h").read_text())
    functions = re.findall(r"BERTH_PUBLIC ([^;(]*?\*?)(berth_\w+)(\([^;]*\));", header)
    assert len(functions) > 20
    for result, name, arguments in functions:
        assert f" {result.strip()} {name}{arguments};".replace(" ", "") in text.replace(" ", ""), (result, name, arguments)
        assert re.search(rf"^\.Nm {name}\b", (MAN / "libberth.3").read_text(), re.M), name


def programming_has_every_answer():
    """Its table has each method of the library with its call and the end of its answer."""
    text, header = (ROOT / "docs/PROGRAMMING.md").read_text(), (ROOT / "client/lib/berth.h").read_text()
    functions = set(re.findall(r"^BERTH_PUBLIC [^;(]*?\*?(berth_\w+)\(", header, re.M))
    sources = "\n".join(code for path in (ROOT / "client/lib").glob("*.c") if "lib_ask(" in (code := path.read_text()))
    table = text.split("\n## Calls\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(berth_\w+)` \| .*\| `(\w+\.\w+)` \|$", table, re.M)
    methods, ends = set(re.findall(r'"io\.berth\.(\w+\.\w+)"', sources)), set(re.findall(r"^void (berth_\w+_free)\(", sources, re.M))
    assert len(methods) >= 14 and methods <= {method for _, method in rows}, methods - {method for _, method in rows}
    assert len(ends) >= 12 and all(f"`{end}`" in table for end in ends), [end for end in ends if f"`{end}`" not in table]
    assert {call for call, _ in rows} <= functions, {call for call, _ in rows} - functions


def bash(*words, environment=None):
    """Completions of bash for the last of these words."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf "%s\\n" "${COMPREPLY[@]}"'
    lines = said("bash", "--norc", "-c", script, "bash", COMPLETION / "berth", "berth", *words,
                 env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **(environment or {})}).splitlines()
    return [line for line in lines if line]


ZSH = r"""
compdef() { :; }
compset() { [ "$1" = -P ] || return 1; local cut=${words[CURRENT]#${~2}}; [ "$cut" != "$words[CURRENT]" ] || return 1; words[CURRENT]=$cut; }
compadd() { [ "$1" = -a ] && print -l -- ${(P)2}; }
_describe() { print -l -- ${(P)4%%:*}; }
_files() { echo "files $*"; }
_normal() { echo "normal $CURRENT $words"; }
source "$1"; shift; words=("$@"); CURRENT=$#
_berth
"""


def zsh(*words, environment=None):
    """Completions that zsh adds for the last of these words, before it filters."""
    if shutil.which("zsh") is None:
        raise LeftOut("zsh is not here; make check installs it")
    return said("zsh", "-f", "-c", ZSH, "zsh", COMPLETION / "_berth", "berth", *words,
                env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **(environment or {})}).splitlines()


def metrics():
    return re.findall(r'^X\(\w+, "(\w+)"', (ROOT / "schema/metrics.def").read_text(), re.M)


def bash_completes_what_the_tables_have():
    table = commands()
    assert bash("") == list(table)
    assert bash("--json", "bi") == ["bind"]
    assert set(bash("--")) == {"--socket", "--node", "--json", "--help", "--version"}
    for name, its in table.items():
        offered = bash(name, "-")
        assert {word for pair in its for word in pair if word} | {"--socket", "--json"} <= set(offered), (name, offered)
        assert all(word.startswith("-") for word in offered)
    assert bash("bind", "-n", "8", "--form") == ["--format"]
    assert bash("bind", "--format", "") == ["table", "env", "slurm", "flux", "rankfile", "numactl", "omp_places", "cray_mpich"]
    assert bash("bind", "--order", "=", "f") == ["free"] and bash("bind", "--order", "=") == ["free", "rank"]
    assert bash("bind", "-n", "") == [] and bash("bind", "--pattern", "all") == ["alltoall", "allreduce"]
    assert bash("alloc", "--kind", "pinned,d") == ["pinned,device"]
    assert bash("matrix", "") == metrics() and bash("probe", "cpu_copy", "cpu_p") == ["cpu_pingpong"]
    assert bash("help", "al") == ["alloc"] and bash("help", "--as", "m") == ["manual"]
    assert bash("topo", "") == []
    assert bash("slurm", "") == ["prolog", "epilog", "task", "health"] and bash("slurm", "e") == ["epilog"]


def bash_completes_the_command_behind_exec():
    assert "env" in bash("exec", "en") and str(BIN / "berthd") in bash("exec", str(BIN / "bert")) and "--tasks" in bash("exec", "--ta")
    for before in (("exec",), ("exec", "-n", "2"), ("exec", "--"), ("--json", "exec", "--key", "=", "--", "-n", "2")):
        assert "README.md" in bash(*before, "cat", "-n", "READ"), before
        assert bash(*before, "cat", "--ta") == [], before
        lines = said("bash", "--norc", "-c", '_command_offset() { echo "from $1"; }; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth', "bash",
                     COMPLETION / "berth", "berth", *before, "cat", "")
        assert lines == f"from {len(before) + 1}\n", (before, lines)


def bash_completes_files_folders_and_places():
    assert "README.md" in bash("bind", "--flows", "READ") and bash("record", "doc") == ["docs"]
    assert bash("--node", "tests/nodes/mi2") == ["tests/nodes/mi250x"]
    with Daemon("--node", NODES / "mi250x") as daemon:
        here = {"BERTH_SOCKET": daemon.socket}
        assert bash("route", "gpu", environment=here) == [f"gpu{n}" for n in range(8)]
        assert bash("health", "numa0,gpu7", environment=here) == ["numa0,gpu7"]
        assert bash("--socket", daemon.socket, "curves", "memory_latency", "numa") == [f"numa{n}" for n in range(4)]
        assert "gpu3" in zsh("route", "", environment=here)
    assert bash("route", "", environment={"BERTH_SOCKET": "/nowhere"}) == []


def zsh_completes_what_the_tables_have():
    if shutil.which("zsh") is not None:
        subprocess.run(["zsh", "-n", COMPLETION / "_berth"], check=True)
    table = commands()
    assert zsh("") == list(table)
    for name, its in table.items():
        offered = zsh(name, "-")
        assert {word for pair in its for word in pair if word} | {"--socket", "--json"} <= set(offered), (name, offered)
    assert zsh("bind", "--format", "") == ["table", "env", "slurm", "flux", "rankfile", "numactl", "omp_places", "cray_mpich"] == zsh("bind", "--format=")
    assert zsh("alloc", "--kind", "pinned,") == ["system", "pinned", "managed", "device"]
    assert zsh("matrix", "") == metrics() and zsh("record", "") == ["files -/"] and zsh("bind", "--flows", "") == ["files "]
    assert zsh("slurm", "") == ["prolog", "epilog", "task", "health"]
    for before in (("exec",), ("exec", "-n", "2"), ("exec", "--"), ("--json", "exec", "--key=x")):
        assert zsh(*before, "./ap") == ["normal 1 ./ap"], before
        assert zsh(*before, "cat", "-n", "") == ["normal 3 cat -n "], before


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def guides_name_commands_and_options_that_there_are():
    """Contents of code blocks and backquotes of README and docs."""
    table, seen = commands(), set()
    everywhere = {word for pair in options(said(BIN / "berth", "help", "topo")) for word in pair if word}
    for guide in pages():
        text = guide.read_text()
        pieces = [line for block in re.findall(r"^```.*?\n(.*?)^```", text, re.S | re.M) for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", text)
        for piece in pieces:
            for match in re.finditer(r"(?:^|\$\(|-- |\| )berth ((?:--(?:node|socket) \S+ |--json )*)([a-z]+)(?= |$|\))([^#|)]*)", piece):
                name, rest = match[2], match[3].split(" -- ")[0]
                assert name in table, f"{guide.name}: {piece}"
                its = {word for pair in table[name] for word in pair if word} | everywhere
                for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest):
                    assert word in its, f"{guide.name}: {piece}: {word}"
                seen.add(name)
    assert len(seen) > 12, seen


def the_readmes_two_lines_start_a_daemon():
    """Without root's folders and without an installation: in a folder whose build/bin is there."""
    lines = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M)[1]
    assert len(lines.splitlines()) == 2 and "`kill %1` ends it" in (ROOT / "README.md").read_text(), lines
    with tempfile.TemporaryDirectory(prefix="berth-readme-") as folder:
        os.mkdir(f"{folder}/build")
        os.symlink(pathlib.Path(BIN).absolute(), f"{folder}/build/bin")
        done = subprocess.run(["bash", "-m", "-c", lines + "berth health\nkill %1\nwait\n"], cwd=folder, capture_output=True, text=True, timeout=200)
        assert re.search(r"^ready, last measured ", done.stdout, re.M) and re.search(r"^(healthy|degraded|unhealthy|unknown): ", done.stdout, re.M), done
        assert re.search(r"^origin +live$", done.stdout, re.M) and os.listdir(f"{folder}/build/state"), done


def anchors(page):
    """The anchors that GitHub makes of a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    named = set(re.findall(r"<a id=\"([^\"]+)\"", text))
    return named | {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)", text, re.M)}


def every_file_and_heading_that_a_guide_links_to_is_there():
    for guide in [ROOT / "CONTRIBUTING.md", *pages()]:
        for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", guide.read_text()):
            target = guide.parent / link if link else guide
            assert target.exists(), f"{guide.name}: {link}"
            assert not anchor or anchor in anchors(target), f"{guide.name}: {link}#{anchor}"


def what_was_measured_says_when_and_where_and_how():
    """Each diary begins with date, machine, commit, command."""
    measured = sorted((ROOT / "docs/measured").glob("*.md"))
    assert len(measured) > 10
    for page in measured:
        first = page.read_text().split("\n## ")[0]
        assert re.findall(r"^\| (date|machine|commit|command) \| *\S", first, re.M)[:4] == ["date", "machine", "commit", "command"], page.name


def guides_are_short_and_so_are_all_sentences():
    """Diaries in docs/measured may be longer; their sentences may not."""
    wrong = []
    assert len(pages()) > 25
    for page in pages():
        words, average, longest = sentences.measured(page.read_text())
        if words > 3000 and page.parent.name != "measured" or average > 20 or len(longest[0]) > 35:
            wrong.append(f"{page.name}: {words} words, {average:.1f} a sentence, longest {len(longest[0])}: {' '.join(longest[0])[:80]}")
    assert not wrong, wrong


def the_first_screen_of_a_guide_has_its_questions():
    """Five or more, each with an answer, within 40 lines."""
    for name in ("ADMIN", "HEALTH", "SLURM", "JOBS", "PROGRAMMING", "EXPORT", "RECORD", "PROTOCOL", "MEASURING", "ADVICE", "LOAD", "FLEET", "ERRORS", "FINDINGS"):
        screen = "\n".join((ROOT / f"docs/{name}.md").read_text().splitlines()[:40])
        table = screen.split("| question | answer |\n")[1].split("\n\n")[0]
        assert len(re.findall(r"^\| [^|]+\? \| [^|\s].*\|$", table, re.M)) >= 5, (name, table)


def measuring_has_every_metric():
    """Its table says what of each is timed; a "*" stands for the beginning of several."""
    section = (ROOT / "docs/MEASURING.md").read_text().split("\n## Metrics\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    named = {name: cells for cells in rows for name in re.findall(r"`([a-z_*]+)`", cells[0])}
    assert len(metrics()) > 20 and all(len(cells) == 3 and all(cell.strip(" |") for cell in cells) for cells in named.values()), named
    missing = [metric for metric in metrics() if not any(re.fullmatch(name.replace("*", ".*"), metric) for name in named)]
    assert not missing, missing
    unknown = [name for name in named if not any(re.fullmatch(name.replace("*", ".*"), metric) for metric in metrics())]
    assert not unknown, unknown


def the_list_of_documents_has_every_page():
    listed = set(re.findall(r"\]\(([^)#]+)\)", (ROOT / "docs/README.md").read_text()))
    there = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert there and there <= listed, there - listed


def the_glossary_is_short():
    words = re.findall(r"^\| (?!word|---)([^|]+) \| [^|]+ \|$", (ROOT / "docs/GLOSSARY.md").read_text(), re.M)
    assert 20 < len(words) <= 50 and words == sorted(words, key=str.lower), words


SHOWN = "berth", "cat", "lstopo-no-graphics", "hwloc-calc"  # the others of a guide need what is not here: gpus, a job, a browser


def commands_of(guide):
    """(heading, command, the lines shown behind it) of each command in a code block that can be run here."""
    for section in re.split(r"^## ", (ROOT / "docs" / guide).read_text(), flags=re.M):
        for block in re.findall(r"^```\n(.*?)^```", section, re.S | re.M):
            for command, lines in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
                if command.split()[0] in SHOWN:
                    yield section.splitlines()[0], command, lines


def is_shown(lines, printed):
    """True when the lines equal the output, except at "..."."""
    at = 0
    pieces = re.split(r"^\.\.\.\n", lines, flags=re.M)
    for number, piece in enumerate(pieces):
        found = printed.find(piece, at)
        if found < 0 or (number == 0 and found > 0):
            return False
        at = found + len(piece)
    return lines.endswith("...\n") or at == len(printed)


def guides_show_what_commands_print():
    """Runs each command in a folder with the test nodes.

    In EXPORT.md the node of a section applies to commands without one. "..." is a gap.
    """
    nodes = {"hwloc": "h200x4", "nccl, rccl": "h200x4", "gres": "mi250x", "dot": "mi250x", "prometheus": "h200x4", "ucx": "h200x4", "rankfile": "mi250x"}
    wrong, run = [], 0
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "tests", f"{folder}/tests")
        for guide in sorted(path.name for path in (ROOT / "docs").glob("*.md")):
            for section, command, lines in commands_of(guide):
                words = command.split("  #")[0]
                if guide != "EXPORT.md" and not words.startswith("berth --node tests/nodes/"):
                    continue
                if words.startswith("berth ") and "--node" not in words:
                    words = f"berth --node tests/nodes/{nodes[section]} {words.removeprefix('berth ')}"
                missing = [program for program in re.findall(r"(?:^|\| )(\S+)", words) if shutil.which(program, path=environment["PATH"]) is None]
                if missing:
                    print(f"# {guide}: not run, {missing[0]} is not here: {command}")
                    continue
                printed = said("sh", "-c", words, cwd=folder, env=environment)
                run += 1
                if not is_shown(lines, printed):
                    wrong.append((guide, command))
                    print(f"# {guide}: $ {command}\n" + "".join(f"#   {line}\n" for line in printed.splitlines()[:60]))
    assert not wrong and run >= 20, (run, wrong)


def the_table_of_hostile_users_has_every_attack():
    """Its page has a row for each attack of the bench, with figures of berthd, of the echo and of before."""
    attacks = re.findall(r'^    {"[a-z-]+", "([^"]+)", ', (ROOT / "tests/bench/hostile.c").read_text(), re.M)
    section = (ROOT / "docs/measured/hostile_users.md").read_text()
    rows = {columns[0].replace("`", ""): columns[1:] for columns in (
        [column.strip() for column in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| "))}
    assert len(attacks) >= 9 and not set(attacks) - set(rows), set(attacks) - set(rows)
    for attack in attacks:
        figures = [float(figure.strip("*")) for figure in rows[attack]]
        assert len(figures) == 7 and all(figure > 0 for figure in figures), (attack, figures)


def codes_of_findings():
    """Every code that a statement of the daemon gives a finding or a note."""
    found = {f"probe-{ending}" for ending in ("crashed", "timeout")} | {f"{kind}-missing" for kind in ("gpu", "nic", "numa", "package")}
    for folder in ("health", "measure", "store"):
        for path in (ROOT / "daemon" / folder).glob("*.[ch]"):
            for statement in re.split(r"[;{}]", path.read_text()):
                if re.search(r"\b(?:set_note|add|add_note|note_failure|run_parser_note)\(|\.code = |\[RULE_|\bcodes\[\]|define SCHED_LEFT_OUT", statement):
                    found |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', statement))
    return found


def findings_has_cause_and_action_of_every_finding():
    rows = {}
    page = (ROOT / "docs/FINDINGS.md").read_text().replace("\\|", "&")
    for line in page.split("## All findings")[1].split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        for name in re.findall(r"`([a-z-]+)`", cells[0]) if line.startswith("| `") else ():
            assert name not in rows and len(cells) == 5 and all(cells), line
            rows[name] = cells
    above = ()
    table = (ROOT / "schema/findings.def").read_text().replace("|", "&")
    actions = {code: (action, commands) for code, action, commands in re.findall(r'^FINDING\("([a-z-]+)", "(.*)", "(.*)"\)$', table, re.M)}

    def written(cell):
        return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell.removesuffix(" |").strip()).replace("`", "")
    for name, cells in rows.items():
        above = above if cells[3] == "the same" else (written(cells[3]), r"\n".join(re.findall("`([^`]*)`", cells[4])))
        assert actions.pop(name, None) == above, (name, above)
    assert not actions, actions
    commands = [re.findall(r'"([^"]*)"', text) for text in re.findall(r"^COMMAND\((.*?)\)$", table, re.M | re.S)]
    rows_of_commands = [[r"\n".join(re.findall("`([^`]*)`", cell)) for cell in line.split(" | ")] for line in page.split("## Commands")[1].splitlines() if line.startswith("| `")]
    assert len(commands) > 4 and rows_of_commands == commands, (commands, rows_of_commands)
    found = codes_of_findings()
    assert len(found) >= 30 and found <= set(rows), found - set(rows)


def errors_has_every_counter_and_xid():
    page = (ROOT / "docs/ERRORS.md").read_text()
    counters = re.findall(r'^COUNTER\(\w+, "(\w+)"', (ROOT / "schema/counters.def").read_text(), re.M)
    table = page.split("\n## Counters\n")[1].split("\n## ")[0]
    assert len(counters) > 10 and sorted(re.findall(r"`([a-z_]+)`", "".join(line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")))) == sorted(counters)
    words = dict(re.findall(r'\[([A-Z]+)\] = "(.*)"', (ROOT / "daemon/health/event_findings.c").read_text()))
    rows = re.findall(r'^XID\((\d+), (\w+), (\w+), "(.*)"\)', (ROOT / "schema/xids.def").read_text(), re.M)
    drains = ("RESET", "RESTART", "POWER")
    link = f"| warning; critical, drain: Fatal | by its message; Fatal: {words['RESET']} |"
    drawn = [f"| {number} | {meaning} " + (link if action == "LINK" else f"| {severity.lower()}{', drain' if action in drains else ''} | {words[action] or 'by its message'} |")
             for number, severity, action, meaning in rows]
    assert len(rows) > 30 and [line for line in page.splitlines() if re.match(r"\| \d", line)] == drawn


def pictures_are_what_the_command_draws():
    for picture, node, words in (("placement.svg", "mi250x", "bind -n 4 --pattern ring --bytes 64M -o -"), ("node.svg", "h200x4", "topo -o -")):
        drawn = subprocess.run([BIN / "berth", "--node", ROOT / "tests/nodes" / node, *words.split()], capture_output=True, text=True, check=True).stdout
        assert drawn.strip() == (ROOT / "docs" / picture).read_text().strip(), f"docs/{picture} is another picture: berth --node tests/nodes/{node} {words}"


def the_command_knows_no_code_that_there_is_not():
    codes = set(re.findall(r'^REASON\(\w+, "([a-z0-9-]+)"', (ROOT / "schema/reasons.def").read_text(), re.M))
    met = set()
    for path in (ROOT / "client").rglob("*.c"):
        text = path.read_text()
        met |= set(re.findall(r'ui_reason_is\(\w+, "([^"]+)"\)', text))
        for several in re.findall(r"\bcodes\[\] = \{([^}]*)\}", text):
            met |= set(re.findall(r'"([a-z][a-z0-9-]+)"', several))
    assert len(met) > 10 and met <= codes, met - codes


def the_codes_page_has_every_code_of_reasons():
    """Its table is that of schema/reasons.def: tests/lib/reasons.py prints it."""
    assert reasons.table() in (ROOT / "docs/CODES.md").read_text(), "python3 tests/lib/reasons.py has the table"


def pages_write_microseconds_as_the_program_does():
    """Runs in a terminal with UTF-8; output from elsewhere stays unchanged."""
    unit = re.search(r'ui->utf8 \? "\\u00b5s" : "us", "ms"', (ROOT / "client/ui/units.c").read_text())
    assert unit, "the program has another unit"
    wrong = []
    for page in pages():
        prose = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), page.read_text(), flags=re.M | re.S)
        wrong += [f"{page.name}:{number}" for number, line in enumerate(prose.splitlines(), 1) if re.search(r"\d\**,? us\b", line)]
    assert not wrong, wrong


def the_help_prints_all_or_one():
    done = subprocess.run([BIN / "berth", "help", "--as", "manual", "bind"], capture_output=True, text=True)
    assert done.returncode == 64 and done.stderr.count("\n") == 1, done
    assert said(BIN / "berth", "help", "--as", "text", "bind") == said(BIN / "berth", "help", "bind")
    subprocess.run(["bash", "-n", COMPLETION / "berth"], check=True)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_tests([tools_find_nothing_wrong_with_the_pages, every_page_that_is_named_is_there, berth_1_has_every_command_and_option, berth_1_says_of_each_what_the_help_says,
                        berthd_8_has_every_option, berth_conf_5_has_every_key_and_default, libberth_3_has_every_function, programming_has_every_answer, bash_completes_what_the_tables_have,
                        bash_completes_the_command_behind_exec,
                        bash_completes_files_folders_and_places, zsh_completes_what_the_tables_have, guides_name_commands_and_options_that_there_are, the_readmes_two_lines_start_a_daemon,
                        every_file_and_heading_that_a_guide_links_to_is_there, what_was_measured_says_when_and_where_and_how, guides_are_short_and_so_are_all_sentences,
                        the_first_screen_of_a_guide_has_its_questions, measuring_has_every_metric, the_list_of_documents_has_every_page, the_glossary_is_short, guides_show_what_commands_print, the_table_of_hostile_users_has_every_attack, findings_has_cause_and_action_of_every_finding, errors_has_every_counter_and_xid,
                        pictures_are_what_the_command_draws, the_command_knows_no_code_that_there_is_not, the_codes_page_has_every_code_of_reasons, pages_write_microseconds_as_the_program_does, the_help_prints_all_or_one]) != 0)
