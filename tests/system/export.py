"""berth export over every test node, each text given to the tool that reads it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, Daemon, NODES  # noqa: E402
from cpuset import cpuset  # noqa: E402
from exported import ask, berth, cells, export, has_xml, made, nodes, places, run, tool, value, vendors  # noqa: E402
from node import cpus_of  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402


# What the parsers of NCCL and RCCL take (src/graph/xml.cc of both): no declaration, no text, one space before an attribute, values in
# double quotes without escapes of their own, and which element may stand in which.
CHILDREN = {"": {"system"}, "system": {"cpu"}, "cpu": {"pci", "nic"}, "pci": {"pci", "gpu", "nic"}, "nic": {"net"}, "gpu": {"nvlink", "xgmi", "c2c"},
            "net": set(), "nvlink": set(), "xgmi": set(), "c2c": set()}
TAG = re.compile(r'<(/?)([a-z0-9]+)((?: [a-z_]+="[^"<>&]{0,254}")*)(/?)>')


def parse_nccl(text):
    """A list of (path of element names, attributes); fails where those parsers would."""
    found, stack, at = [], [""], 0
    while at < len(text):
        if text[at] in " \n":
            at += 1
        elif text.startswith("<!-- ", at):
            end = text.index("-->", at)
            assert "--" not in text[at + 4:end], text[at:end]
            at = end + 3
        else:
            tag = TAG.match(text, at)
            assert tag, text[at:at + 80]
            closes, name, attributes, single = tag.groups()
            if closes:
                assert stack.pop() == name, (name, stack)
            else:
                assert name in CHILDREN[stack[-1]], (stack, name)
                attributes = dict(re.findall(r'([a-z_]+)="([^"]*)"', attributes))
                assert len(attributes) <= 16
                found.append(("/".join(stack[1:] + [name]), attributes))
                stack += [] if single else [name]
            at = tag.end()
    assert stack == [""], stack
    return found


def test_hwloc_of_every_node():
    tool("hwloc-calc")
    for node in nodes():
        if not has_xml(node):
            status, _, said = berth(node, "export", "hwloc")
            assert status == 65 and "without an hwloc XML" in said, (node, status, said)
            continue
        with made(xml=export(node, "hwloc")) as folder:
            path = folder / "topology.xml"
            status, _, said = run(tool("xmllint"), "--noout", "--nonet", "--nowarning", path)
            assert status == 0 or "hwloc2.dtd" in said, (node, said)
            status, text, said = run("hwloc-calc", "--if", "xml", "-i", path, "-N", "pu", "all")
            assert status == 0 and int(text) == len(places(node, "pu")) or node.name == "memoryless-v1", (node, text, said)


def test_hwloc_is_a_node_again():
    for node in nodes():
        if not has_xml(node):
            continue
        with made(xml=export(node, "hwloc")) as folder:
            for kind in ("package", "numa", "llc", "core", "pu"):
                before, after = places(node, kind), places(folder, kind)
                assert before.keys() == after.keys(), (node, kind, before.keys() ^ after.keys())
                assert all(before[name]["cpus"] == after[name]["cpus"] for name in before), (node, kind)
            for metric in ("memory_bandwidth", "memory_latency", "gpu_gpu_copy_engine", "gpu_gpu_kernel", "copy_latency"):
                known = {(c["from"], c["to"]): c for c in cells(folder, metric) if c["value"] is not None}
                for cell in cells(node, metric):
                    again = known.get((cell["from"], cell["to"]))
                    if again is not None and cell["value"] is not None:
                        assert abs(again["value"] - cell["value"]) <= max(0.51 if cell["value"] < 1e6 else 6e5, 1e-4 * cell["value"]), (node, metric, cell, again)
                        assert again["source"] == cell["source"] or "mixed" in export(node, "hwloc"), (node, metric, cell, again)


# From each NUMA node of epyc-2s to each: what is best is not what is near, and numa2 was measured from numa0 and numa1 alone.
READ = {(0, 0): 40e9, (0, 1): 90e9, (0, 2): 30e9, (1, 0): 45e9, (1, 1): 44e9, (1, 2): 20e9, (2, 0): 25e9, (2, 1): 10e9, (2, 3): 60e9, (3, 3): 41e9, (3, 0): 42e9}
CHASE = {(llc, numa): 100.0 + 7 * ((5 * llc + 3 * numa) % 8) for llc in range(8) for numa in range(4)}


def measured_epyc():
    records = [value("memory_bandwidth", f"numa{a}", f"numa{b}", rate) for (a, b), rate in READ.items()]
    records += [value("memory_bandwidth", f"numa{a}", f"numa{b}", rate / 2, operation="write") for (a, b), rate in READ.items() if a != 3]
    return records + [value("memory_latency", f"llc{a}", f"numa{b}", ns) for (a, b), ns in CHASE.items()]


def best(path, attribute, where, *flags):
    """Number of the memory that hwloc-calc chooses, of all or by other flags, with its standard
    error.
    """
    status, text, said = run(tool("hwloc-calc"), "--if", "xml", "-i", path, "--local-memory", *(flags or ("--local-memory-flags", "4")), "--best-memattr", attribute, where)
    return (text.strip(), said) if status == 0 else (status, said)


NEAR = "--local-memory-flags", "3"  # hwloc-calc's own: those around the cpus and those inside


def test_hwloc_calc_finds_what_the_matrix_says():
    with made("epyc-2s", measured_epyc()) as node:
        with made(xml=export(node, "hwloc")) as folder:
            path = folder / "topology.xml"
            _, attributes, _ = run(tool("lstopo-no-graphics"), "--if", "xml", "-i", path, "--memattrs")
            for cell in cells(node, "memory_bandwidth"):
                if cell["value"] is not None:
                    number = round(cell["value"] / 1048576)
                    assert re.search(rf"NUMANode L#{cell['to'][4:]} = {number} from cpuset", attributes), (cell, attributes)
            wrong = {}
            for numa in range(4):
                expected = max((rate, b) for (a, b), rate in READ.items() if a == numa)[1]
                for where in (f"numa:{numa}", f"core:{8 * numa + 3}"):
                    found = best(path, "ReadBandwidth", where)
                    if found != (str(expected), ""):
                        wrong[where] = (expected, found)
            for llc in range(8):
                expected = min((ns, numa) for (a, numa), ns in CHASE.items() if a == llc)[1]
                found = best(path, "Latency", f"l3:{llc}")
                if found != (str(expected), ""):
                    wrong[f"l3:{llc}"] = (expected, found)
            assert not wrong, wrong


def test_hwloc_calc_is_told_of_packages():
    # What a data sheet states as the peak is not written: the node as published has none of it.
    assert not [c for c in cells(NODES / "mi250x", "memory_bandwidth") if c["from"] == "package0" and c["source"] != "nominal"]
    each = [value("memory_bandwidth", "package0", f"numa{numa}", 51.2e9, **axes) for numa in range(4) for axes in ({}, {"operation": "write"})]
    with made("mi250x", each) as node, made(xml=export(node, "hwloc")) as folder:
        path = folder / "topology.xml"
        for attribute in "Bandwidth", "ReadBandwidth", "WriteBandwidth":
            found = [best(path, attribute, f"core:{core}", *NEAR) for core in (0, 20, 40, 63)]
            assert found == [(str(numa), "") for numa in (0, 1, 2, 3)], (attribute, found)
            assert best(path, attribute, "package:0") == ("0", ""), attribute
        assert {(c["from"], c["to"]): c["value"] for c in cells(folder, "memory_bandwidth") if c["value"] is not None}.keys() == {("package0", f"numa{n}") for n in range(4)}
    whole = [value("memory_bandwidth", "package0", f"numa{numa}", 100e9 + numa * 1e9) for numa in range(3)]
    each = [value("memory_bandwidth", f"numa{a}", f"numa{b}", rate) for (a, b), rate in READ.items()]
    for records, alone, together in ((whole, "2", "2"), (whole + each, "1", "2"), (whole + each + [value("memory_bandwidth", "package0", "numa3", 1e9)], "1", "")):
        with made("epyc-2s", records) as node, made(xml=export(node, "hwloc")) as folder:
            path = folder / "topology.xml"
            assert (best(path, "ReadBandwidth", "numa:0"), best(path, "ReadBandwidth", "package:0")) == ((alone, ""), (together, "")), records
            assert best(path, "ReadBandwidth", "package:1") == ("", ""), "nothing is known of it"


def test_what_is_missing_is_left_out_of_hwloc():
    with made("epyc-2s", measured_epyc()) as node:
        root = ElementTree.fromstring(export(node, "hwloc"))
        matrices = {matrix.get("name"): matrix for matrix in root.iter("distances2hetero")} | {matrix.get("name"): matrix for matrix in root.iter("distances2")}
        # numa3 has no rate to numa1 and numa2; numa2 has none to itself, which is 0
        indexes = matrices["BerthNUMAReadBandwidth"].find("indexes").text.split()
        assert indexes == ["0", "1", "2"], indexes
        assert matrices["BerthNUMAReadBandwidth"].find("u64values").text.split() == ["40000", "90000", "30000", "45000", "44000", "20000", "25000", "10000", "0"]
    with made("epyc-2s", []) as node:
        text = export(node, "hwloc")
        assert "BerthNUMA" not in text and "BerthSource" not in text and 'name="ReadBandwidth"' not in text


def test_hwloc_says_where_values_are_from():
    for source in ("measured", "published"):
        with made("epyc-2s", measured_epyc(), source) as node:
            with made(xml=export(node, "hwloc")) as folder:
                found = {cell["source"] for cell in cells(folder, "memory_bandwidth") + cells(folder, "memory_latency") if cell["value"] is not None}
                assert found == {source}, found
                again = {(c["from"], c["to"]) for c in cells(folder, "memory_latency") if c["value"] is not None}
                assert again == {(f"llc{a}", f"numa{b}") for a, b in CHASE}, again


def test_nccl_of_every_node():
    for node in nodes():
        gpus, kinds = places(node, "gpu"), vendors(node)
        for name, vendor, link, version in (("nccl", "nvidia", "nvlink", "1"), ("rccl", "amd", "xgmi", "2")):
            if kinds and vendor not in kinds:
                status, text, said = berth(node, "export", name)
                assert status == 64 and text == "" and said.count("\n") == 1, (node, name, status, said)
                continue
            found = parse_nccl(export(node, name))
            assert found[0] == ("system", {"version": version}), found[0]
            addresses = [attributes["busid"] for path, attributes in found if path.endswith("pci")]
            assert len(addresses) == len(set(addresses)), (node, addresses)
            ours = {gpu["pci"] for gpu in gpus.values() if gpu["details"].get("vendor") == vendor and gpu["pci"]}
            assert ours <= set(addresses), (node, ours - set(addresses))
            assert {nic["pci"] for nic in places(node, "nic").values() if nic["pci"]} <= set(addresses), node
            links = [attributes for path, attributes in found if path.endswith("/" + link)]
            assert all(int(attributes["count"]) > 0 for attributes in links), (node, links)
            assert all(attributes["target"] in ours or attributes["tclass"] == "0x068000" for attributes in links), (node, links)


def test_nccl_leaves_to_the_library_what_it_looks_up():
    """The library stops at a file's net, which it does not complete then.

    It also stops at cpus without CPUID's words, where it may put a virtual nic.
    """
    for node in nodes():
        for name in ("nccl", "rccl"):
            if berth(node, "export", name)[0] != 0:
                continue
            found = parse_nccl(export(node, name))
            assert not [path for path, _ in found if path.endswith("/net")], node
            assert not [attributes for _, attributes in found if {"dev", "rank", "keep"} & attributes.keys()], node
    cpus = [attributes for path, attributes in parse_nccl(export(NODES / "h200x4", "nccl")) if path == "system/cpu"]
    assert [(cpu["arch"], cpu["vendor"], cpu["familyid"], cpu["modelid"]) for cpu in cpus] == [("x86_64", "GenuineIntel", "6", "207")], cpus
    xml = (NODES / "mi250x/topology.xml").read_text()
    told = '<info name="CPUVendor" value="AuthenticAMD"/><info name="CPUFamilyNumber" value="25"/><info name="CPUModelNumber" value="48"/><info name="CPUModel"'
    with made(xml=re.sub(r'<info name="CPU(Vendor|FamilyNumber|ModelNumber)"[^>]*>', "", xml).replace('<info name="CPUModel"', told)) as node:
        cpus = [attributes for path, attributes in parse_nccl(export(node, "rccl")) if path == "system/cpu"]
        assert [(cpu["vendor"], cpu["familyid"], cpu["modelid"]) for cpu in cpus] == [("AuthenticAMD", "175", "48")] * 4, cpus


def test_nccl_has_the_links_and_numa_nodes_of_the_node():
    node = NODES / "mi250x"
    found, gpus, at = parse_nccl(export(node, "rccl")), places(node, "gpu"), {}
    widths, numa, address = {}, None, None
    for path, attributes in found:
        if path == "system/cpu":
            numa = "numa" + attributes["numaid"]
            mask = int(attributes["affinity"].replace(",", ""), 16)
            assert {cpu for cpu in range(512) if mask >> cpu & 1} == cpus_of(places(node, "numa")[numa]["cpus"]), (numa, attributes)
        elif path.endswith("/pci"):
            address = attributes["busid"]
            at[address] = numa
        elif path.endswith("/xgmi"):
            widths[address, attributes["target"]] = int(attributes["count"])
    assert all(at[gpu["pci"]] == gpu["numa"] for gpu in gpus.values())
    between = [link for link in ask(node, "topo")["links"] if link["from"] in gpus and link["to"] in gpus]
    expected = {(gpus[link["from"]]["pci"], gpus[link["to"]]["pci"]): link["width"] for link in between}
    assert widths == expected | {(b, a): width for (a, b), width in expected.items()}, widths


def test_nccl_of_a_switch_and_c2c():
    found = parse_nccl(export(NODES / "h200x4", "nccl"))
    links = [attributes for path, attributes in found if path.endswith("/nvlink")]
    assert len(links) == 4 and all(link["count"] == "18" and link["tclass"] == "0x068000" for link in links), links
    assert [attributes for path, attributes in found if path.endswith("/gpu")] == [{"sm": "90"}] * 4
    slots = [(attributes.get("link_speed"), attributes.get("link_width")) for path, attributes in found if attributes.get("class") == "0x030200"]
    assert slots == [("32.0 GT/s PCIe", "16")] * 4, slots
    c2c = [attributes for path, attributes in parse_nccl(export(NODES / "gh200-quad", "nccl")) if path.endswith("/c2c")]
    assert c2c == [{"bw": "45000", "count": "10"}] * 4, c2c


GRES = re.compile(r"^Name=gpu(?: Type=[a-z][a-z0-9_]*)? File=/dev/\S+(?: Flags=(?:amd|nvidia)_gpu_env)?(?: Cores=[0-9,-]+)?(?: Links=-?[0-9]+(?:,-?[0-9]+)*)?$")


def test_gres_of_every_node():
    for node in nodes():
        gpus = places(node, "gpu")
        lines = [line for line in export(node, "gres").splitlines() if not line.startswith("#")]
        assert (lines[:1] == ["AutoDetect=off"]) == bool(gpus), (node, lines)
        for line in lines[1:]:
            assert GRES.match(line), (node, line)
        files = re.findall(r"File=(\S+)", "\n".join(lines))
        assert len(files) == len(set(files)), (node, files)
        for line in lines[1:]:
            links = re.search(r"Links=(\S+)", line)
            assert links is None or len(links[1].split(",")) == len(gpus) == len(lines) - 1, (node, line)
            flags = {"/dev/nvidia": "nvidia_gpu_env", "/dev/dri/": "amd_gpu_env"}
            assert next(f" Flags={flag} " for file, flag in flags.items() if f" File={file}" in line) in f"{line} ", (node, line)


def test_gres_counts_cores_as_hwloc_does():
    calc, looked = tool("hwloc-calc"), 0
    for node in nodes():
        gpus, packages = places(node, "gpu").values(), [cpus_of(package["cpus"]) for package in places(node, "package").values()]
        if not gpus or not has_xml(node):
            continue
        with made(xml=export(node, "hwloc")) as folder:
            def of_cores(text):
                _, text, said = run(calc, "--if", "xml", "-i", folder / "topology.xml", "--po", "-I", "pu", *[f"core:{n}" for n in sorted(cpus_of(text))])
                assert said == "", (node, text, said)
                return cpus_of(text)
            lines = export(node, "gres").splitlines()
            for gpu in gpus:
                comment = next(number for number, line in enumerate(lines) if line.startswith(f"# {gpu['name']} "))
                near, cores = re.search(r", next to cores (\S+)", lines[comment]), re.search(r"Cores=(\S+)", lines[comment + 1])
                if near is None:
                    assert not gpu["cpus"] and cores is None, (node, gpu, cores)
                    continue
                assert of_cores(near[1]) == cpus_of(gpu["cpus"]), (node, near, gpu["cpus"])
                # Slurm 24.11 takes whole sockets alone.
                assert of_cores(cores[1]) == set().union(*(cpus for cpus in packages if cpus & of_cores(near[1]))), (node, gpu, cores)
                looked += 1
    assert looked > 12, looked


def test_slurmd_takes_gres():
    slurmd, node = tool("slurmd"), NODES / "mi250x"
    with made(xml=export(node, "hwloc")) as folder:
        devices = folder / "dev"
        devices.mkdir()
        for minor in range(128, 136):
            (devices / str(minor)).symlink_to("/dev/null")
        text = export(node, "gres")
        _, host, _ = run("hostname")
        (folder / "slurm.conf").write_text(
            f"ClusterName=t\nSlurmctldHost=localhost\nAuthType=auth/munge\nGresTypes=gpu\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
            f"ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdSpoolDir={folder}/spool\n"
            f"NodeName=n1 NodeHostname={host.strip()} CPUs=128 Boards=1 SocketsPerBoard=1 CoresPerSocket=64 ThreadsPerCore=2 Gres=gpu:mi250x:8\n")
        environment = {"HWLOC_XMLFILE": str(folder / "topology.xml")}

        def says(gres):
            (folder / "gres.conf").write_text(gres.replace("/dev/dri/renderD", f"{devices}/"))
            _, out, said = run(slurmd, "-G", "-N", "n1", "-f", folder / "slurm.conf", environment=environment)
            return out + said
        taken = says(text)
        assert "error" not in taken, taken
        lines = [line for line in text.splitlines() if line.startswith("Name=")]
        for number, line in enumerate(lines):
            cores, links = re.search(r"Cores=(\S+) Links=(\S+)", line).groups()
            assert re.search(rf"Type=mi250x Count=1 Index={128 + number} .*Cores={cores} CoreCnt=\d+ Links={links}$", taken, re.M), (line, taken)
        assert "Invalid GRES data" in says(text.replace("Cores=0-63", "Cores=0-99")), "slurmd does not look"


def test_dot_of_every_node():
    dot = tool("dot")
    for node in nodes():
        text = export(node, "dot")
        status, picture, said = run(dot, "-Tsvg", text=text)
        assert status == 0 and said == "" and "<svg" in picture, (node, said)
        for kind in ("gpu", "numa", "nic", "switch"):
            for name in places(node, kind):
                assert f">{name}</text>" in picture, (node, name)


def test_dot_labels_rates_with_their_source():
    text = export(NODES / "h200x4", "dot")
    assert re.search(r'numa0 -- gpu0 \[label="pcie\\n55\.8 GB/s measured"', text), text
    assert re.search(r'gpu0 -- switch0 \[label="nvlink x18\\n478 GB/s nominal"', text), text
    assert re.search(r'gpu0 -- gpu6 \[label="xgmi x2\\n50 GB/s published"', export(NODES / "mi250x", "dot"))


def test_names_from_outside_end_nothing():
    name = 'a--> "b" \\ <c> & {d}\u00e9'
    with made("mi250x", [], name=name) as node:
        parse_nccl(export(node, "rccl"))
        ElementTree.fromstring(export(node, "rccl"))
        status, picture, said = run(tool("dot"), "-Tsvg", text=export(node, "dot"))
        assert status == 0 and said == "" and "&lt;c&gt;" in picture, (status, said)


def test_open_mpi_binds_within_a_cpuset():
    """Variables of docs/EXPORT.md:

    Open MPI binds to a cpu of its cpuset, not to another one in the file.
    """
    mpirun = shutil.which("mpirun.openmpi")
    if mpirun is None:
        raise LeftOut("there is no Open MPI (tests/lib/deps.sh test)")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise LeftOut("one cpu only")
    rows = re.findall(r"^\| `(HWLOC_\w+)=(\S+)` \|", (HERE.parent.parent / "docs/EXPORT.md").read_text(), re.M)
    assert len(rows) == 5, rows
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with Daemon("--no-probe") as daemon, cpuset(cpus[-1]) as confine:
        path = daemon.directory / "node.xml"
        done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "export", "hwloc", "-o", path], capture_output=True, text=True)
        assert done.returncode == 0, done
        documented = {**dict(rows), "HWLOC_XMLFILE": str(path)}
        for variables in ({}, documented):
            done = subprocess.run([mpirun, "-n", "1", "--bind-to", "core", "grep", "Cpus_allowed_list", "/proc/self/status"], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, **as_root, **variables}, preexec_fn=confine)
            assert done.returncode == 0 and done.stdout.split() == ["Cpus_allowed_list:", str(cpus[-1])], (variables, done)


def test_rankfile_is_binds():
    for arguments in ((), ("-n", "4"), ("-n", "2", "-g", "2", "-c", "4")):
        status, bound, _ = berth(NODES / "mi250x", "bind", "--format", "rankfile", *(arguments or ("-n", "8")))
        assert status == 0 and export(NODES / "mi250x", "rankfile", *arguments) == bound, arguments
    assert export(NODES / "epyc-2s", "rankfile").count("rank ") == 4


def test_output_is_written_at_once():
    with made("mi250x", []) as node, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "node.dot"
        assert berth(node, "export", "dot", "-o", path)[1].startswith(f"wrote {path}, ")
        first = path.read_text()
        assert first == export(node, "dot")
        path.write_text("old")
        status, _, said = berth(node, "export", "nccl", "-o", path)
        assert status == 64 and path.read_text() == "old", said
        status, _, said = berth(node, "export", "dot", "--output", pathlib.Path(folder) / "no" / "where")
        assert status == 74 and said.startswith("berth: cannot write") and said.count("\n") == 1, said
        assert [entry.name for entry in pathlib.Path(folder).iterdir()] == ["node.dot"]
        assert berth(node, "export", "dot", "-o", "/dev/stdout")[1] == first


def test_wrong_words():
    node = NODES / "epyc-2s"
    for arguments, words in (((), "which format?"), (("prometeus",), "did you mean prometheus"), (("dot", "-n", "3"), "goes with rankfile"),
                             (("dot", "--json", "-o", "x"), "--json prints the reply")):
        status, text, said = berth(node, "export", *arguments)
        assert status == 64 and (text == "") == ("--json" not in arguments) and words in said and said.count("\n") == 1, (arguments, said)
    assert json.loads(berth(node, "--json", "export", "dot")[1])["text"] == export(node, "dot")


def ucx_variables(text):
    return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))


def test_ucx_takes_each_rate():
    """ucx_info shows the measured rates with the variables, and UCX's own estimates without: of the transports through memory by
    UCX_MM_BW, of a copy into a buffer by the size from which messages go by rendezvous.
    """
    info = tool("ucx_info")
    given = ucx_variables(export(NODES / "h200x4", "ucx"))
    assert set(given) == {"UCX_MM_BW", "UCX_BCOPY_BW"}, given
    rates = {name: float(text.removesuffix("Bps")) for name, text in given.items()}
    measured = [cell["value"] for cell in cells(NODES / "h200x4", "cpu_copy") if cell["from"] != cell["to"]]
    assert len(measured) == 2 and abs(rates["UCX_MM_BW"] - sum(measured) / 2) < 1, (rates, measured)
    plain = {name: text for name, text in os.environ.items() if not name.startswith("UCX_")}

    def bandwidths(variables):
        text = subprocess.run([info, "-d"], env={**plain, **variables}, capture_output=True, text=True, check=True).stdout
        return dict(re.findall(r"Transport: (posix|sysv)\n(?:#.*\n)*?#\s+bandwidth: 0.00/ppn \+ ([\d.]+) MB/sec", text))

    shown = bandwidths(given)
    if not shown:
        raise LeftOut("UCX offers no transport through memory here")
    assert set(shown.values()) == {f"{rates['UCX_MM_BW'] / 2 ** 20:.2f}"}, (shown, rates)
    assert not set(shown.values()) & set(bandwidths({}).values())

    def eager_limit(variables):
        """The protocols' estimates say where copying through buffers ends."""
        done = subprocess.run([info, "-e", "-u", "t", "-D", "shm"], capture_output=True, text=True, check=True,
                              env={**plain, "UCX_PROTO_ENABLE": "y", "UCX_TLS": "posix,cma", **variables})
        limits = re.findall(r"\| +\d+\.\.(\d+|inf) \| eager copy-in copy-out", done.stdout)
        return float(limits[-1]) if limits else None

    limits = [eager_limit({**given, "UCX_BCOPY_BW": f"{rates['UCX_BCOPY_BW'] * factor:.0f}Bps"}) for factor in (0.25, 1)] + [eager_limit({})]
    if None in limits:
        raise LeftOut("UCX has no protocol estimates here")
    assert limits[0] < limits[1] != limits[2], limits


def test_ucx_has_what_was_measured_alone():
    assert berth(NODES / "mi250x", "export", "ucx")[::2] == (65, "berth: no rate was measured here for which UCX has a variable\n"), "published values are no reason"


if __name__ == "__main__":
    sys.exit(run_tests([test for name, test in sorted(globals().items(), key=lambda item: getattr(getattr(item[1], "__code__", None), "co_firstlineno", 0))
                        if name.startswith("test_")]) > 0)
