"""Which task of a step a process is: cases from the table of launchers, read by the library and by
the package, which have to agree.
"""
import ctypes
import os
import pathlib

import pytest
from berth._launcher import TASKS_MOST, find_position
from berth._launchers import LAUNCHERS
from berthd import BIN

VARIABLE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
MANY = 2 ** 31
HOSTILE = ("", " ", "-1", "+1", " 1", "1 ", "1x", "0x1", "1e1", "\u0661", "\udcff", "\n", "%s%n", "9" * 9,
           str(MANY), str(2 ** 64 + 1), "1" * 100_000)


class Launcher(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("task", ctypes.c_int), ("tasks", ctypes.c_int),
                ("rank", ctypes.c_int), ("world", ctypes.c_int), ("ranks", ctypes.POINTER(ctypes.c_int)),
                ("key", ctypes.c_char_p), ("missing", ctypes.c_char_p)]


@pytest.fixture(scope="module")
def library():
    path = pathlib.Path(BIN).parent / "lib/libberth.so"
    if not path.exists() or b"__asan_init" in path.read_bytes():
        pytest.skip("there is no libberth without sanitizers")
    found = ctypes.CDLL(str(path))
    found.berth_new.restype = ctypes.c_void_p
    found.berth_launcher_here.argtypes = [ctypes.c_void_p, VARIABLE, ctypes.c_void_p, ctypes.c_void_p]
    found.berth_launcher_free.argtypes = found.berth_free.argtypes = [ctypes.c_void_p]
    return found


def number(value):
    return None if value < 0 else value


def read(library, variables):
    """What the library and the package tell of these variables, which is the same."""
    texts = {name: ctypes.create_string_buffer(os.fsencode(value)) for name, value in variables.items()}
    find = VARIABLE(lambda name, _: ctypes.addressof(texts[name.decode()]) if name.decode() in texts
                    else None)
    handle, launcher = library.berth_new(), ctypes.POINTER(Launcher)()
    assert library.berth_launcher_here(handle, find, None, ctypes.byref(launcher)) == 0
    its = launcher.contents
    text = [value.decode("ascii") if value is not None else None
            for value in (its.name, its.key, its.missing)]
    told = (text[0], number(its.task), number(its.tasks), number(its.rank), number(its.world),
            its.ranks[:its.tasks] if its.ranks else None, *text[1:])
    library.berth_launcher_free(launcher)
    library.berth_free(handle)
    found = find_position(variables)
    assert told == (found.launcher.launcher if found.launcher else None, found.task, found.tasks,
                    found.rank, found.world, found.ranks, found.key, found.missing), variables
    return found


def complete(row, task=1, tasks=2, rank=3, world=4):
    """All variables of a launcher: the second of two tasks on the second of two nodes."""
    names = {row.needed: "1", row.task: task, row.rank: rank, **{name: "name" for name in row.key}}
    if row.tasks:
        names[row.tasks[0]] = tasks
    if row.world:
        names[row.world[0]] = world
    if row.launcher == "slurm":
        names.update(SLURM_JOB_ID=7, SLURM_NODEID=1, SLURM_STEP_TASKS_PER_NODE=f"{tasks}(x2)")
    if row.launcher == "flux":
        names["FLUX_JOB_NNODES"] = 2
    return {name: str(value) for name, value in names.items() if name is not None}


ROWS = [pytest.param(row, id=row.launcher) for row in LAUNCHERS]
COUNTED = [pytest.param(row, id=row.launcher) for row in LAUNCHERS if row.tasks]
WHOLE = [pytest.param(row, id=row.launcher) for row in LAUNCHERS if row.tasks and row.world]


@pytest.mark.parametrize("row", ROWS)
def test_complete(library, row):
    found = read(library, complete(row))
    if row.task is None:
        assert found.missing == f"{row.rank} is set, but {row.launcher} does not tell a task's number on its node"
        return
    assert (found.launcher, found.task, found.tasks, found.rank, found.world, found.missing) == \
        (row, 1, 2, 3, 4, None)
    assert found.ranks == ([2, 3] if row.launcher in ("torchrun", "deepspeed", "slurm") else None)
    assert read(library, complete(row, 1, 2, 1, 2)).tasks == (2 if row.launcher != "flux" else None)


@pytest.mark.parametrize("row", ROWS)
def test_inside_another(library, row):
    """What starts tasks inside a step stands before the step's launcher in the table."""
    for outer in LAUNCHERS[LAUNCHERS.index(row) + 1:]:
        inner = complete(row)
        found = read(library, {**complete(outer, 0, 1, 0, 1), **inner})
        assert found.launcher == row
        if row.task is not None and row.launcher not in ("pals", "hydra"):  # two share PMI's names
            assert (found.task, found.rank) == (1, 3), outer
    batch = {"PBS_JOBID": "7.host", "PBS_TASKNUM": "1", "PBS_NODENUM": "0", "PBS_NODEFILE": "/nodes"}
    assert read(library, {**batch, **complete(row)}).launcher == row
    assert read(library, batch).missing == "no launcher's variables are set"


@pytest.mark.parametrize("row", COUNTED)
def test_contradictions_here(library, row):
    tasks = row.tasks[0]
    for task, count in ((2, 2), (3, 2), (0, 0), (999_999_999, 1)):
        found = read(library, complete(row, task, count))
        assert found.tasks is None
        assert found.missing == f"{tasks} is {count}, which is not more than {row.task}, {task}"
    found = read(library, complete(row, 1, TASKS_MOST, TASKS_MOST, TASKS_MOST + 1))
    assert found.tasks == TASKS_MOST and found.missing is None
    for count in (TASKS_MOST + 1, 999_999_999):
        assert read(library, complete(row, 1, count)).missing == f"{tasks} is {count}, and {TASKS_MOST} is the most"


@pytest.mark.parametrize("row", WHOLE)
def test_contradictions_of_the_whole_step(library, row):
    for rank, world in ((4, 4), (5, 4), (999_999_999, 4)):
        found = read(library, complete(row, rank=rank, world=world))
        assert found.tasks is None and found.ranks is None
        assert found.missing == f"{row.rank} is {rank}, which is not less than {row.world[0]}, {world}"
    found = read(library, complete(row, 1, 8, 3, 4))
    assert found.missing == f"{row.tasks[0]} is 8, which is more than {row.world[0]}, 4"


def test_parts_of_a_job(library):
    """Ranks of a heterogeneous job of Slurm's count over all of its parts."""
    row = next(row for row in LAUNCHERS if row.launcher == "slurm")
    found = read(library, complete(row, rank=9))
    assert (found.task, found.tasks, found.ranks, found.missing) == (1, 2, None, None)


@pytest.mark.parametrize("row", ROWS)
def test_half_a_set(library, row):
    for name in complete(row):
        variables = {other: value for other, value in complete(row).items() if other != name}
        found = read(library, variables)
        if name == row.needed:
            assert found.launcher != row
        elif name == row.task or name in row.tasks:
            assert found.missing == f"{name} is not set"
        elif row.task is not None and row.launcher not in ("slurm", "flux"):
            assert (found.task, found.tasks, found.missing) == (1, 2, None)
            assert found.ranks is None or name not in (row.rank, row.world[0])


@pytest.mark.parametrize("row", ROWS)
def test_hostile_values(library, row):
    for name in complete(row):
        for value in HOSTILE:
            if "\0" in value:
                continue
            found = read(library, {**complete(row), name: value})
            assert (found.task is None or found.tasks is None) == (found.missing is not None)
            assert found.missing is None or len(found.missing) < 160 and "\n" not in found.missing
            assert found.key is None or len(found.key) < 200 and found.key.isprintable()
            if name == row.task or name in row.tasks:
                assert found.missing is not None, value
    every = {name: "\udcff\n" * 50_000 for name in complete(row)}
    assert read(library, every).tasks is None


def test_torchrun_starts_its_workers_again(library):
    """Its key differs where ranks may: at a restart, and when nodes come or go."""
    row = LAUNCHERS[0]
    assert row.launcher == "torchrun"
    keys = {read(library, {**complete(row), "TORCHELASTIC_RUN_ID": "job", **more}).key
            for more in ({}, {"TORCHELASTIC_RESTART_COUNT": "1"}, {"GROUP_RANK": "1"}, {"WORLD_SIZE": "6"})}
    assert keys == {"torchrun/job.0.4.0", "torchrun/job.0.4.1", "torchrun/job.1.4.0", "torchrun/job.0.6.0"}
    assert len({read(library, complete(row, task, 2, 2 + task)).key for task in (0, 1)}) == 1


def test_documented():
    """The table of docs/JOBS.md names them in the order in which they are looked for."""
    page = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/JOBS.md"
    told = [line for line in page.read_text().splitlines() if line.startswith("|")]
    lines = [next((number for number, line in enumerate(told) if f"`{row.task}`" in line and
                   f"`{row.rank}`" in line and f"`{row.needed or row.task}`" in line), None)
             for row in LAUNCHERS if row.task is not None]
    assert None not in lines and lines == sorted(set(lines)), lines
