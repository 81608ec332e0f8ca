#!/usr/bin/env python3
"""sbom.py TARBALL EPOCH LIBRARY...: prints the bill of materials of a tarball, SPDX 2.3 in JSON.

Libraries are pkg-config's names; their versions are those that a build finds on this machine.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

TOP = pathlib.Path(__file__).resolve().parents[2]
HOMES = {  # pkg-config's name: project, licence by its SPDX identifier, home
    "hwloc": ("hwloc", "BSD-3-Clause", "https://www.open-mpi.org/projects/hwloc/"),
    "libuv": ("libuv", "MIT", "https://libuv.org/"),
    "sqlite3": ("sqlite", "blessing", "https://sqlite.org/"),
    "jansson": ("jansson", "MIT", "https://github.com/akheron/jansson"),
    "numa": ("numactl", "LGPL-2.1-only", "https://github.com/numactl/numactl"),
    "ncursesw": ("ncurses", "X11-distribute-modifications-variant", "https://invisible-island.net/ncurses/"),
    "cmocka": ("cmocka", "Apache-2.0", "https://cmocka.org/"),
}
ROLES = {"cmocka": "TEST_DEPENDENCY_OF"}  # all others are linked


def version(library):
    command = [os.environ.get("PKGCONFIG", "pkg-config"), "--modversion", library]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sbom.py: pkg-config does not find {library}; make deps installs it")
    return done.stdout.strip()


def package(name, **fields):
    unsaid = ("downloadLocation", "copyrightText", "licenseConcluded", "licenseDeclared")
    return {"SPDXID": f"SPDXRef-{name}", "name": name, "filesAnalyzed": False, **dict.fromkeys(unsaid, "NOASSERTION"), **fields}


def purl(name, of):
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:generic/{name}@{of}"}]


def berth(tarball):
    release = tarball.name.removeprefix("berth-").removesuffix(".tar.gz")
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    return package(
        "berth", versionInfo=release, packageFileName=tarball.name, primaryPackagePurpose="SOURCE",
        supplier="Organization: The berth authors", externalRefs=purl("berth", release),
        checksums=[{"algorithm": "SHA256", "checksumValue": digest}],
        licenseConcluded="BSD-3-Clause", licenseDeclared="BSD-3-Clause",
        copyrightText=(TOP / "LICENSE").read_text().split("\n\n")[1])


def linked(library):
    if library not in HOMES:
        sys.exit(f"sbom.py: {library} is linked, and HOMES has no licence for it")
    name, licence, home = HOMES[library]
    found = version(library)
    return package(name, versionInfo=found, licenseDeclared=licence, homepage=home,
                   primaryPackagePurpose="LIBRARY", externalRefs=purl(name, found))


def libc():
    name, found = os.confstr("CS_GNU_LIBC_VERSION").split()
    return package(name, versionInfo=found, licenseDeclared="LGPL-2.1-or-later", homepage="https://www.gnu.org/software/libc/",
                   primaryPackagePurpose="LIBRARY", externalRefs=purl(name, found))


def opened():
    """The libraries that programs open by name at run time, as their sources name them."""
    names = {}
    for source in [*TOP.glob("probes/**/*.[ch]"), *TOP.glob("client/**/*.[ch]")]:
        for soname in re.findall(r'"(lib[a-z0-9-]+\.so[.0-9]*)"', source.read_text()):
            names.setdefault(soname.partition(".so")[0], set()).add(soname)
    names.pop("libberth", None)
    return [package(name, primaryPackagePurpose="LIBRARY",
                    comment="Not linked; opened where it is installed: " + ", ".join(sorted(names[name])))
            for name in sorted(names)]


def mpi():
    return package("MPI", primaryPackagePurpose="LIBRARY",
                   comment="Not linked but by berth-probe-mpi, which a site builds with the MPI library of its jobs")


def main(tarball, epoch, *libraries):
    top = berth(pathlib.Path(tarball))
    parts = [(linked(library), ROLES.get(library, "DEPENDS_ON")) for library in libraries]
    parts += [(libc(), "DEPENDS_ON")] + [(part, "OPTIONAL_DEPENDENCY_OF") for part in [*opened(), mpi()]]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", top["SPDXID"])]
    for part, role in parts:
        ends = (part["SPDXID"], top["SPDXID"]) if role.endswith("_OF") else (top["SPDXID"], part["SPDXID"])
        relations.append((ends[0], role, ends[1]))
    packages = [top] + [part for part, _ in parts]
    name = f"berth-{top['versionInfo']}"
    unique = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(packages))
    created = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{unique}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Organization: The berth authors", f"Tool: sbom.py-{top['versionInfo']}"]},
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }, indent=1))


main(*sys.argv[1:])
