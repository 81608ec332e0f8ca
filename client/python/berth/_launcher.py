"""Position of this process in a parallel step. The rules are those of client/lib/task/launcher.c."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

from ._launchers import LAUNCHERS, Launcher

TASKS_MOST = 1 << 20
WORLD_MOST = 1 << 22
PYTORCHS = ("torchrun", "deepspeed")  # a worker takes the gpu with its number on the node


@dataclass
class Position:
    """task of tasks on this node, rank of world in the job. missing: why task or tasks is None."""

    launcher: Optional[Launcher] = None
    task: Optional[int] = None
    tasks: Optional[int] = None
    rank: Optional[int] = None
    world: Optional[int] = None
    ranks: Optional[List[int]] = None
    key: Optional[str] = None
    missing: Optional[str] = None


def number(variables: Mapping[str, str], name: Optional[str]) -> Optional[int]:
    text = variables.get(name) if name is not None else None
    return int(text) if text is not None and re.fullmatch(r"\d{1,9}", text, re.ASCII) else None


def _first(variables: Mapping[str, str], names: List[str]) -> Optional[int]:
    numbers = (number(variables, name) for name in names)
    return next((found for found in numbers if found is not None), None)


def _is_there(variables: Mapping[str, str], row: Launcher) -> bool:
    # Slurm 26.05 numbers the steps of a job that srun has not started, such as its batch script,
    # below zero.
    needed = "" if row.needed is None else variables.get(row.needed)
    if needed is None or (row.launcher == "slurm" and needed.startswith("-")):
        return False
    return any(name is not None and name in variables for name in (row.task, row.rank))


def _groups(text: str) -> List[Tuple[int, int]]:
    """Slurm's "2(x3),1": numbers of tasks and of nodes, up to the first part that is wrong."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:\(x(\d{1,9})\))?", part, re.ASCII)
        tasks, nodes = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
        if not (1 <= tasks <= TASKS_MOST and 1 <= nodes <= TASKS_MOST):
            break
        found.append((tasks, nodes))
    return found


def _slurm_list(variables: Mapping[str, str]) -> Optional[str]:
    return variables.get("SLURM_STEP_TASKS_PER_NODE", variables.get("SLURM_TASKS_PER_NODE"))


def _slurm_tasks(variables: Mapping[str, str]) -> Optional[int]:
    node, end = number(variables, "SLURM_NODEID"), 0
    for tasks, nodes in _groups(_slurm_list(variables) or ""):
        end += nodes
        if node is not None and node < end:
            return tasks
    return number(variables, "SLURM_NTASKS_PER_NODE")


def _slurm_ranks(variables: Mapping[str, str], tasks: int, world: int) -> Optional[List[int]]:
    """Ranks of this node as srun distributes them; None for distributions that are not known."""
    text, node = _slurm_list(variables), number(variables, "SLURM_NODEID")
    method = re.split("[:,=]", variables.get("SLURM_DISTRIBUTION", "block"))[0]
    turn = {"block": TASKS_MOST, "cyclic": 1,
            "plane": number(variables, "SLURM_DIST_PLANESIZE")}.get(method)
    if text is None or node is None or not turn or not 1 <= world <= WORLD_MOST:
        return None
    groups = _groups(text)
    if len(groups) != len(text.split(",")) or sum(a * b for a, b in groups) != world:
        return None
    each = [count for count, nodes in groups for _ in range(nodes)]
    if node >= len(each) or each[node] != tasks:
        return None
    ranks: List[int] = []
    given, rank = [0] * len(each), 0
    while rank < world:
        for n, room in enumerate(each):
            now = min(turn, room - given[n])
            ranks += range(rank, rank + now) if n == node else ()
            given[n] += now
            rank += now
    return ranks


def _flux_tasks(variables: Mapping[str, str], task: Optional[int],
                world: Optional[int]) -> Optional[int]:
    nodes = number(variables, "FLUX_JOB_NNODES")
    if not nodes or not world or world % nodes or (task or 0) >= world // nodes:
        return None
    return world // nodes


def _bytes(variables: Mapping[str, str], name: str, most: int) -> bytes:
    return os.fsencode(variables.get(name, ""))[:most]


def _key(variables: Mapping[str, str], row: Launcher) -> Optional[str]:
    """Printable ASCII only, whatever the variables hold."""
    key = b""
    if row.launcher == "slurm":
        parts = [_bytes(variables, name, 80) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID")]
        key = b".".join(parts) if all(parts) else b""
    elif row.launcher == "torchrun":  # its workers' ranks may change at a restart
        key = b".".join((_bytes(variables, "TORCHELASTIC_RUN_ID", 60) or b"none",
                         _bytes(variables, "GROUP_RANK", 9) or b"0",
                         _bytes(variables, "WORLD_SIZE", 9) or b"0",
                         _bytes(variables, "TORCHELASTIC_RESTART_COUNT", 9) or b"0"))
    else:
        texts = [_bytes(variables, name, 140) for name in row.key]
        key = next((text for text in texts if text), b"")
    return f"{row.launcher}/{re.sub(b'[^!-~]', b'_', key).decode()}" if key else None


def _counting(variables: Mapping[str, str], names: List[str]) -> Optional[str]:
    """The variable among several that counts, else the one to be set."""
    counts = [name for name in names if number(variables, name) is not None]
    return next(iter(counts + [name for name in names if name in variables] + names), None)


def _missing(variables: Mapping[str, str], row: Launcher, position: Position) -> str:
    if row.task is None:
        return f"{row.rank} is set, but {row.launcher} does not tell a task's number on its node"
    if position.task is None:
        return f"{row.task} is {'no number' if row.task in variables else 'not set'}"
    if row.launcher == "slurm":
        return "SLURM_STEP_TASKS_PER_NODE is not set, or says nothing of node SLURM_NODEID"
    if row.launcher == "flux":
        return "FLUX_JOB_SIZE and FLUX_JOB_NNODES do not give each node as many tasks"
    name = _counting(variables, row.tasks)
    count = number(variables, name)
    if count is None:
        return f"{name} is {'no number' if name in variables else 'not set'}"
    if count <= position.task:
        return f"{name} is {count}, which is not more than {row.task}, {position.task}"
    return f"{name} is {count}, and {TASKS_MOST} is the most"


def _contradiction(variables: Mapping[str, str], row: Launcher, tasks: int, rank: int,
                   world: Optional[int]) -> Optional[str]:
    if row.launcher == "slurm" or world is None:
        return None
    its = _counting(variables, row.world)
    if rank >= world:
        return f"{row.rank} is {rank}, which is not less than {its}, {world}"
    if tasks > world:
        name = _counting(variables, row.tasks)
        return f"{name} is {tasks}, which is more than {its}, {world}"
    return None


def find_position(variables: Mapping[str, str]) -> Position:
    row = next((row for row in LAUNCHERS if _is_there(variables, row)), None)
    if row is None:
        return Position(missing="no launcher's variables are set")
    position = Position(row, number(variables, row.task), None, number(variables, row.rank),
                        _first(variables, row.world), None, _key(variables, row))
    task, world = position.task, position.world
    if row.launcher == "slurm":
        tasks = _slurm_tasks(variables)
    elif row.launcher == "flux":
        tasks = _flux_tasks(variables, task, world)
    else:
        tasks = _first(variables, row.tasks)
    position.tasks = tasks if tasks is not None and (task or 0) < tasks <= TASKS_MOST else None
    if task is None or position.tasks is None:
        position.missing = _missing(variables, row, position)
        return position
    rank = -1 if position.rank is None else position.rank
    position.missing = _contradiction(variables, row, position.tasks, rank, world)
    if position.missing is not None:
        position.tasks = None
    elif position.rank is not None and world is not None and world >= position.tasks:
        ranks = _slurm_ranks(variables, position.tasks, world) if row.launcher == "slurm" else None
        if ranks is not None and ranks[task] == position.rank:
            position.ranks = ranks
        elif row.launcher in PYTORCHS or world == position.tasks and rank == task:
            first = rank - task
            if 0 <= first <= world - position.tasks:
                position.ranks = list(range(first, first + position.tasks))
    return position
