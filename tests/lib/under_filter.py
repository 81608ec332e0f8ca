"""Runs a command under the system call filter of a unit, without systemd.

under_filter.py UNIT|- COMMAND... (-: a filter that allows everything). The filter is read from the
unit's SystemCallFilter lines, with systemd-analyze's groups. Other calls fail with EPERM, as in the
unit.
"""
import ctypes
import os
import pathlib
import re
import struct
import subprocess
import sys

HEADER = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
ARCH = 0xC000003E
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO with EPERM
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38


def numbers():
    """Every system call of this machine by its name."""
    return {name: int(number)
            for name, number in re.findall(r"#define __NR_(\w+) (\d+)", HEADER.read_text())}


def members(word):
    """Names of the calls in a word of SystemCallFilter."""
    if not word.startswith("@"):
        return {word}
    text = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", word],
                          capture_output=True, text=True, check=True).stdout
    words = [line.strip() for line in text.splitlines()[1:]]
    return set().union(*(members(inner) for inner in words if inner and not inner.startswith("#")))


def allowed(unit):
    """Names of the calls that a unit allows: its first line lists allowed ones, those with ~
    refused ones.
    """
    names = members("@default")
    for line in re.findall(r"^SystemCallFilter=(.+)$", pathlib.Path(unit).read_text(), re.M):
        for word in line.lstrip("~").split():
            names = names - members(word) if line.startswith("~") else names | members(word)
    return names


def install(numbers_allowed):
    """Installs the filter for this process, over exec too; None allows everything."""
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCH), (RETURN, 0, 0, REFUSE), (LOAD, 0, 0, 0)]
    for number in sorted(numbers_allowed or ()):
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    code.append((RETURN, 0, 0, REFUSE if numbers_allowed else ALLOW))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in code))
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, 2,
                                                                      ctypes.c_char_p(program), 0,
                                                                      0) != 0:
        raise OSError(ctypes.get_errno(), "no filter can be set here")


if __name__ == "__main__":
    known = numbers()
    install(None if sys.argv[1] == "-"
            else {known[name] for name in allowed(sys.argv[1]) if name in known})
    os.execvp(sys.argv[2], sys.argv[2:])
