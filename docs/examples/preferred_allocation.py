#!/usr/bin/env python3
"""The answer of a Kubernetes device plugin to GetPreferredAllocation.

usage: preferred_allocation.py SIZE AVAILABLE [MUST_INCLUDE]: GPUs by UUID, PCI address or berth's
name, between commas. Prints the preferred ones, a line each: those with the least predicted time
for an exchange between all of them. Exit status 1, and one line, without an answer."""
from __future__ import annotations

import itertools
import math
import sys
from typing import Sequence

import berth

MOST_SETS = 100  # a set costs a call, of about a millisecond


def chosen(client: berth.Client, ids: Sequence[str], size: int) -> tuple[float, list[str]]:
    """Time in ns of the exchange (infinity: nothing predicts it), and its GPUs among these."""
    answer = client.bind(size, gpus_per_task=1, pattern="alltoall", bytes=64 << 20,
                         allowed=berth.Allowed(gpus=tuple(ids)), key=None)
    name = {known: place.name for place in client.node().places if place.kind == "gpu"
            for known in (place.name, place.pci, place.uuid) if known is not None}
    theirs = {gpu for task in answer.tasks for gpu in task.gpus}
    time_ns = answer.predicted.time_ns if answer.predicted else math.inf
    return time_ns, [its for its in ids if name[its] in theirs]


def preferred(client: berth.Client, available: Sequence[str], must: Sequence[str],
              size: int) -> list[str]:
    """The preferred GPUs, in the order of available; all of must are among them."""
    free = [its for its in available if its not in must]
    more = size - len(must)
    if not 0 <= more <= len(free):
        raise ValueError(f"{size} GPUs with {len(must)} given ones do not come out of {len(available)}")
    if not must and size > 0:
        return chosen(client, free, size)[1]
    held = list(must)
    while more > 0:
        step = more if math.comb(len(free), more) <= MOST_SETS else 1
        held += min(itertools.combinations(free, step),
                    key=lambda some: chosen(client, [*held, *some], len(held) + step)[0])
        free = [its for its in free if its not in held]
        more -= step
    return [its for its in available if its in held]


def main() -> int:
    size, available, *must = sys.argv[1:]
    try:
        with berth.Client() as client:
            print("\n".join(preferred(client, available.split(","),
                                      must[0].split(",") if must else [], int(size))))
    except (berth.Error, ValueError) as why:
        print(f"preferred_allocation: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
