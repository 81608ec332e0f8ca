#!/usr/bin/env python3
"""Thermometers of the planner: prints the lines of daemon/cost, sim, search and plan together, and
how many functions the longest chain of calls has from one of daemon/serve through them; --show:
which ones.

Calls are read from the sources, so that nothing depends on which ones a compiler inlines. A
function that is named without a call may be called by the one that names it, and through a pointer
below the file that names it. Functions that call each other in a circle count once.
"""
import collections
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "daemon"
PLANNER = ("cost", "sim", "search", "plan")
LINES, CHAIN = 13000, 20  # wanted at most
NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*'
                     r"|__attribute__\(\(.*?\)\)\)?", re.DOTALL)
# Definitions begin at the margin, as clang-format writes them; the body ends there or in the line.
FUNCTION = re.compile(r"^((?!typedef)\w[^;{}=#]*?\b(\w+)\([^;{}]*\))"
                      r"(?:\n\{\n(.*?)^\}| \{([^\n]*)\}$)", re.MULTILINE | re.DOTALL)
POINTER = r"(?:->|\.)\w+\(|\(\*[\w.>-]+\)\("


def sources(folders):
    """The files of those folders of the daemon."""
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.[ch]"))]


def is_planner(function):
    """Whether a function (file, name) is of the planner."""
    return function[0].relative_to(ROOT).parts[0] in PLANNER


def find_calls():
    """For each function (file, name) those that it may call."""
    found = [(file, name, head, body or line) for file in sources((*PLANNER, "serve"))
             for head, name, body, line in FUNCTION.findall(NO_CODE.sub(" ", file.read_text()))]
    public = {name: (file, name) for file, name, head, _ in found if "static" not in head.split()}
    own = {(file, name): (file, name) for file, name, _, _ in found}
    calls, named, through = {}, set(), set()
    for file, name, head, body in found:
        def those(text, end):
            words = re.findall(r"(?<![.>\w])[a-z]\w*\b" + end, text)
            return {own.get((file, word)) or public.get(word) for word in words} - {None}
        calls[file, name] = those(body, "") - {(file, name)}
        named |= {(file, other) for other in
                  those(re.sub(r"\b(qsort|bsearch)\([^;]*;", "", body), r"(?!\()")}
        parameters = "|".join(re.findall(r"\b(\w+)[,)]", head))
        if re.search(rf"{POINTER}|\b({parameters})\(", body):
            through.add((file, name))
    callers = callers_of(calls)
    for caller in filter(is_planner, through):
        above = {file for file, _ in reaching(callers, caller)}
        calls[caller] |= {other for file, other in named if file in above and is_planner(other)}
    return calls


def callers_of(calls):
    """For each function those that may call it."""
    callers = collections.defaultdict(set)
    for caller, others in calls.items():
        for other in others:
            callers[other].add(caller)
    return callers


def reaching(callers, target):
    """The functions that call one, or call others that do, and itself."""
    found, todo = set(), [target]
    while todo:
        function = todo.pop()
        if function not in found:
            found.add(function)
            todo += callers[function]
    return found


def longest_chain(calls):
    """The longest list of functions, each called by the one before it, that enters the planner."""
    callers = callers_of(calls)
    above = {function: reaching(callers, function) for function in calls}

    @functools.cache
    def longest(function):
        below = [other for other in sorted(calls[function]) if other not in above[function]]
        chain = max(map(longest, below), key=len, default=())
        return (function, *chain) if chain or is_planner(function) else ()

    return max(map(longest, calls), key=len)


def main():
    """Prints both lines."""
    lines = sum(len(file.read_text().splitlines()) for file in sources(PLANNER))
    chain = longest_chain(find_calls())
    print(f"# planner: {lines:,} lines of {', '.join(PLANNER)} (wanted: {LINES:,} at most); "
          f"{len(chain)} functions from serve down (wanted: {CHAIN} at most)")
    for file, name in chain if "--show" in sys.argv else ():
        print(f"#   {name} in {file.relative_to(ROOT)}")


main()
