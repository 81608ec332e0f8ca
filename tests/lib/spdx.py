#!/usr/bin/env python3
"""spdx.py DOCUMENT TARBALL PROGRAM...: ends with 1 and a line where the bill of materials is wrong.

Checks the fields that SPDX 2.3 requires, their forms, that each reference leads somewhere, and that each library
that a program names as needed belongs to a package.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

# Sonames without their "lib" and ".so", where the project's name differs.
PROJECTS = {"numa": "numactl", "sqlite3": "sqlite", "uv": "libuv", "ncursesw": "ncurses", "tinfo": "ncurses", "c": "glibc", "m": "glibc"}


def must(true, message):
    if not true:
        sys.exit(f"spdx.py: {message}")


def form(thing, field, pattern):
    must(re.fullmatch(pattern, thing.get(field, "")), f"{field} of {thing.get('name', 'the document')} is {thing.get(field)!r}")


def check(document, tarball, programs):
    form(document, "spdxVersion", "SPDX-2.3")
    form(document, "dataLicense", "CC0-1.0")
    form(document, "SPDXID", "SPDXRef-DOCUMENT")
    form(document, "name", ".+")
    form(document, "documentNamespace", "https://[^#]+")
    form(document["creationInfo"], "created", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    must(all(re.match("(Person|Organization|Tool): ", who) for who in document["creationInfo"]["creators"]), "creators have no kind")
    packages = {package["name"]: package for package in document["packages"]}
    known = {package["SPDXID"] for package in document["packages"]} | {"SPDXRef-DOCUMENT"}
    must(len(known) == len(document["packages"]) + 1 == len(packages) + 1, "two packages share a name or an identifier")
    for package in document["packages"]:
        form(package, "SPDXID", r"SPDXRef-[A-Za-z0-9.-]+")
        form(package, "downloadLocation", r"NOASSERTION|https://\S+")
        form(package, "licenseDeclared", r"NOASSERTION|[A-Za-z0-9.-]+")
        form(package, "copyrightText", r"NOASSERTION|Copyright .*")
        must(package["filesAnalyzed"] is False, "files are analyzed, and none is listed")
        must("versionInfo" in package or package["comment"].startswith("Not linked"), f"{package['name']} is linked and has no version")
    related = set()
    for relation in document["relationships"]:
        ends = relation["spdxElementId"], relation["relatedSpdxElement"]
        must(known.issuperset(ends), f"{ends} leads nowhere")
        related.update(ends)
    must(related == known, f"nothing relates to {known - related}")
    sums = [of["checksumValue"] for of in packages["berth"]["checksums"]]
    must(sums == [hashlib.sha256(tarball.read_bytes()).hexdigest()], "the sum is not the tarball's")
    for program in programs:
        dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(?:lib)?(.*?)\.so", dynamic):
            if program.endswith("/berth-probe-mpi") and name in ("mpi", "mpich"):
                continue
            name = "glibc" if name.startswith("ld-") else PROJECTS.get(name, name)
            must("versionInfo" in packages.get(name, {}), f"{program} needs {name}, which is not in the document")


check(json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]), sys.argv[3:])
