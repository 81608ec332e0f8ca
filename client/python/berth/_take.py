"""Taking a berth: berth exec within the program. The rules are those of client/lib/task/step.c,
client/lib/task/apply.c and client/lib/task/take_plan.c.
"""
from __future__ import annotations

import ctypes
import logging
import os
import platform
import re
import sys
import time
from dataclasses import dataclass, field, replace
from typing import (Any, Collection, Dict, FrozenSet, List, Literal, Mapping, Optional, Sequence,
                    Tuple)

from ._here import (Gpu, allowed_memory, format_cpus, gpus_of, has_devices, is_job, narrow,
                    parse_cpus)
from ._launcher import PYTORCHS, Position, find_position, number
from ._sync import Client
from ._types import (Allowed, BindReply, Flow, GetNodeReply, KeyMismatch, NotEnough, NothingAllowed,
                     Task)
from .errors import Error, NotTaken, TimedOut

CPUS_ASKED = 8192
DEPTH_MOST = 32  # wrappers between a task and the process that started it
VARIABLES_MOST = 4 << 20
GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES",
                 "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
NIC_VARIABLES = ("UCX_NET_DEVICES", "NCCL_IB_HCA")
REFUSALS = (NotEnough, NothingAllowed, KeyMismatch)
log = logging.getLogger("berth")


@dataclass(frozen=True)
class Berth:
    """The berth of this process. False as a condition when there is none: reason says why.

    task of tasks on this node, rank of world in the job; None: not known. cpus, gpus and memory:
    what this process has now, of gpus also those that a launcher has given it; "" and () where
    nothing says so. environment: variables that were set.
    """

    task: Optional[int] = None
    tasks: Optional[int] = None
    rank: Optional[int] = None
    world: Optional[int] = None
    launcher: Optional[str] = None
    cpus: str = ""
    gpus: Tuple[str, ...] = ()
    memory: Tuple[str, ...] = ()
    environment: Dict[str, str] = field(default_factory=dict)
    reason: Optional[str] = None

    def __bool__(self) -> bool:
        return self.reason is None


# ---- the process that started the tasks, and the resources that they share ----

@dataclass
class _Ancestor:
    pid: int = 0
    start_ticks: int = 0
    variables: Optional[Dict[str, str]] = None
    cpus: Optional[FrozenSet[int]] = None


def _read(path: str) -> Optional[bytes]:
    try:
        with open(path, "rb") as file:
            data = file.read(VARIABLES_MOST + 1)
    except OSError:
        return None
    return data if len(data) <= VARIABLES_MOST else None


def _find_ancestor(name: Optional[str], value: Optional[str]) -> _Ancestor:
    """The nearest ancestor without this variable with this value; the parent when name is None."""
    pid = os.getppid()
    for _ in range(DEPTH_MOST if pid > 0 else 0):
        stat = _read(f"/proc/{pid}/stat")
        if stat is None:
            break
        fields = stat[stat.rindex(b")") + 1:].split()
        parent, text = int(fields[1]), _read(f"/proc/{pid}/environ")
        pairs = (part.partition("=") for part in os.fsdecode(text or b"").split("\0"))
        variables = {key: its for key, equals, its in pairs if equals} if text else None
        if name is None or value is None or (variables or {}).get(name) != value or parent <= 0:
            try:
                cpus: Optional[FrozenSet[int]] = frozenset(os.sched_getaffinity(pid))
            except OSError:
                cpus = None
            return _Ancestor(pid, int(fields[19]), variables, cpus)
        pid = parent
    return _Ancestor()


def _step_cpus(own: FrozenSet[int], ancestor: _Ancestor) -> FrozenSet[int]:
    """Cpus of the ancestor within the cpuset, when they include this task's; else its own. The
    kernel cuts a requested affinity to the cpuset.
    """
    try:
        os.sched_setaffinity(0, range(CPUS_ASKED))
        widest = frozenset(os.sched_getaffinity(0))
    except OSError:
        widest = own
    os.sched_setaffinity(0, own)
    step = widest & ancestor.cpus if ancestor.cpus is not None else frozenset()
    return step if own <= step else own


def _slurm_gpus() -> int:
    return number(os.environ, "SLURM_GPUS_ON_NODE") or 0


def _slurm_binding(position: Position) -> Optional[bool]:
    """Whether Slurm has bound the task to some of the step's gpus; None: unknown."""
    count = _slurm_gpus()
    if position.launcher is None or position.launcher.launcher != "slurm" or count == 0:
        return None
    try:
        return len(parse_cpus(os.environ["SLURM_STEP_GPUS"])) < count
    except (KeyError, ValueError):
        return False


def _names(gpus: Sequence[Gpu]) -> List[str]:
    return [gpu.place.name for gpu in gpus]


@dataclass
class _Step:
    """What all tasks may use together (allowed), and what the launcher has bound this one to."""

    cpus: FrozenSet[int]
    gpus: List[str]
    cpus_bound: bool
    gpus_bound: bool
    allowed: Allowed
    key: str


def _share_gpus(node: GetNodeReply, position: Position,
                ancestor: _Ancestor) -> Tuple[List[str], List[str], bool]:
    """Gpus of this task, those of all tasks, and whether the launcher has bound this one."""
    openable = gpus_of(node)
    own = narrow(openable, os.environ)
    shared = [gpu for gpu in openable if gpu.is_usable]
    tasks, bound = position.tasks or 1, _slurm_binding(position)
    if tasks <= 1 or bound is False:
        shared = own
    elif bound and own:
        shared = openable  # a cgroup may hide the gpus of other tasks
    elif bound is None and ancestor.variables is not None:
        shared = narrow(openable, ancestor.variables)
    elif bound is None and len(own) >= tasks:
        shared = own
    return _names(own), _names(shared), bound is not False and 0 < len(own) < len(shared)


def _is_slurms_too(position: Position, ancestor: _Ancestor) -> bool:
    """Whether Slurm itself has started this task, although another launcher's variables are set: as
    ParaStation does, from a process for each task. Slurm then counts this task alike, and the
    process that started it is in no step.
    """
    here = os.environ.get
    return position.task is not None and \
        here("SLURM_LOCALID") == str(position.task) and \
        here("SLURM_PROCID") == str(position.rank) and \
        str(position.world) in (here("SLURM_STEP_NUM_TASKS"), here("SLURM_NTASKS")) and \
        is_job(here("SLURM_JOB_ID")) and is_job(here("SLURM_STEP_ID")) and \
        "SLURM_STEP_ID" not in (ancestor.variables or {})


def _step_key(position: Position, ancestor: _Ancestor) -> str:
    claimed, job = os.environ.get("BERTH_KEY"), os.environ.get("SLURM_JOB_ID")
    own = position.key[:150] if position.key else ""
    if not own.startswith("slurm/") and _is_slurms_too(position, ancestor):
        own = f"slurm/{job}.{os.environ['SLURM_STEP_ID']}"
    if not own or own.startswith(("torchrun/", "jsrun/")):  # two here may have one name
        own = f"{own[:100]}{'.' if own else ''}process/{ancestor.pid}.{ancestor.start_ticks}"
    if own.startswith("slurm/") or claimed == "" or \
            (claimed is None and not is_job(job)):
        return own
    return f"slurm/{job}.{own}" if claimed is None else f"{claimed[:80]}.{own}"


def _find_step(client: Client, position: Position) -> _Step:
    row, own = position.launcher, frozenset(os.sched_getaffinity(0))
    rank = row.rank if row is not None else None
    if row is not None and position.rank is None and row.task is not None:
        rank = row.task
    if row is not None and row.launcher == "torchrun":  # a pod may have a RANK of its own
        rank = "TORCHELASTIC_ERROR_FILE"
    node = client.node() if has_devices() else None
    ancestor = _find_ancestor(rank, os.environ.get(rank) if rank is not None else None)
    gpus, shared, gpus_bound = \
        _share_gpus(node, position, ancestor) if node is not None else ([], [], False)
    cpus = _step_cpus(own, ancestor) if (position.tasks or 1) > 1 else own
    allowed = Allowed(cpus=format_cpus(cpus), memory=allowed_memory(),
                      gpus=tuple(shared))
    return _Step(own, gpus, cpus != own, gpus_bound, allowed, _step_key(position, ancestor))


# ---- the plan ----

def _share_request(request: Dict[str, Any], count: int) -> None:
    """Shares out the gpus of a Slurm job as its plugin does."""
    tasks = request["tasks"]
    request["gpus_per_task"] = count // tasks if count >= tasks else 1
    if count < tasks:
        request.setdefault("tasks_per_gpu", -(-tasks // count))
    elif count % tasks:
        request.setdefault("visible", "all")


def _request(step: _Step, position: Position, options: Mapping[str, Any]) -> Dict[str, Any]:
    request = {key: value for key, value in options.items() if value is not None}
    request.update(tasks=position.tasks, allowed=step.allowed)
    request.setdefault("key", step.key)
    if position.ranks is not None and ("pattern" in request or "flows" in request):
        request.update(ranks=position.ranks, world=position.world)
    if "gpus_per_task" in request:
        return request
    count = min(_slurm_gpus(), len(step.allowed.gpus or ()))
    if step.gpus_bound:
        request["gpus_per_task"] = len(step.gpus)
    elif count > 0:
        _share_request(request, count)
    return request


def _of_gpus(request: Mapping[str, Any], step: _Step, berths: int) -> Dict[str, Any]:
    """A request of one berth for each gpu. The launcher has chosen the gpus, so options about the
    choice and the traffic behind it are left out.
    """
    of_choice = ("pattern", "flows", "bytes", "ranks", "world", "order", "mechanism",
                 "tasks_per_gpu")
    its = {key: value for key, value in request.items() if key not in of_choice}
    its.update(tasks=berths, gpus_per_task=1)
    if its.get("cores_per_task"):
        its["cores_per_task"] = -(-its["cores_per_task"] // len(step.gpus))
    return its


def _merge(tasks: Sequence[Task], gpus: Sequence[str]) -> Optional[Task]:
    """The berths of these gpus as one. A nic that was chosen for one gpu does not suit all."""
    by_gpu = {task.gpus[0]: task for task in tasks if len(task.gpus) == 1}
    if not gpus or not set(gpus) <= set(by_gpu):
        return None
    parts = [by_gpu[gpu] for gpu in gpus]
    environment = {name: value for name, value in parts[0].environment.items()
                   if name not in NIC_VARIABLES or
                   all(part.environment.get(name) == value for part in parts)}
    return replace(parts[0], gpus=tuple(gpus), environment=environment,
                   cpus=format_cpus(frozenset().union(*(parse_cpus(part.cpus) for part in parts))),
                   memory=tuple(dict.fromkeys(name for part in parts for name in part.memory)))


def _slurm_numbers(name: str) -> Optional[List[int]]:
    text = os.environ.get(name)
    one = r"\d{1,9}(-\d{1,9})?"
    if text is None or not re.fullmatch(rf"{one}(,{one})*", text, re.ASCII):
        return None
    found: List[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not 0 <= int(last or first) - int(first) < 256:
            return None
        found += range(int(first), int(last or first) + 1)
    return found


def _show_numbered(task: Task, node: GetNodeReply, step: _Step, sees_all: bool) -> Task:
    """Numbers the task's gpus among those that AMD's runtime counts, where they have no uuid and
    the answer no variable. Leaves the launcher's variables where that count is unknown.
    """
    if not task.gpus or {"ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} & set(task.environment):
        return task
    gpus = {gpu.place.name: gpu for gpu in gpus_of(node) if gpu.driver_order >= 0}
    given, numbers = map(_slurm_numbers, ("ROCR_VISIBLE_DEVICES", "SLURM_STEP_GPUS"))
    alike = bool(given and numbers and len(given) == len(numbers))
    if alike and given != numbers:
        counted = [name for name in step.allowed.gpus or () if name in gpus]
    else:
        counted = [name for name, gpu in gpus.items() if gpu.place.render_node is not None and
                   os.access(gpu.place.render_node, os.R_OK | os.W_OK, effective_ids=True)]
        if not counted and alike:
            counted = list(gpus)
    wanted = dict.fromkeys([*task.gpus, *(step.allowed.gpus or () if sees_all else ())])
    counted.sort(key=lambda name: gpus[name].driver_order)
    if not all(name in counted and gpus[name].place.uuid is None for name in wanted):
        return task
    value = ",".join(str(counted.index(name)) for name in wanted)
    return replace(task, environment={**task.environment, "ROCR_VISIBLE_DEVICES": value},
                   unset=("HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES",
                          *task.unset))


def _show_local_ranks(task: Task, tasks: Sequence[Task], position: Position) -> Task:
    """Shows a worker of PyTorch's the gpus of all workers in their order, then those left over: a
    training script takes cuda:LOCAL_RANK.
    """
    pytorchs = position.launcher is not None and position.launcher.launcher in PYTORCHS
    name = next((name for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
                 if name in task.environment), None)
    if not pytorchs or name is None or any(len(its.gpus) != 1 for its in tasks):
        return task
    own = [its.environment.get(name, "").split(",")[0] for its in tasks]
    if "" in own or len(set(own)) < len(own) or [its.task for its in tasks] != [*range(len(own))]:
        return task
    value = ",".join(dict.fromkeys(own + task.environment[name].split(",")))
    return replace(task, environment={**task.environment, name: value})


@dataclass
class _Plan:
    """The berth, and the parts of it that the launcher has left to berth."""

    task: Task
    cpus: bool = True
    memory: bool = True
    gpus: bool = True


class _Asker:
    """Calls that together have a time limit."""

    def __init__(self, client: Client, seconds: float):
        self.client, self.seconds, self.end = client, seconds, time.monotonic() + seconds

    def leave_time(self) -> Client:
        self.client.timeout = max(self.end - time.monotonic(), 0.001)
        return self.client

    def bind(self, request: Mapping[str, Any]) -> BindReply:
        return self.leave_time().bind(**request)


def _ask(asker: _Asker, step: _Step, position: Position,
         options: Mapping[str, Any]) -> _Plan:
    request = _request(step, position, options)
    if step.gpus_bound and options.get("gpus_per_task") is None:
        merged = _ask_for_bound(asker, step, request)
        if merged is not None:
            return _Plan(merged, gpus=False)
    tasks = asker.bind(request).tasks
    if step.gpus_bound:
        mine = [task for task in tasks if sorted(task.gpus) == sorted(step.gpus)]
    else:
        mine = [task for task in tasks if task.task == position.task]
    if not mine:
        raise NotTaken("no berth of the plan has just the gpus that this task was given")
    task = mine[0]
    if not step.gpus_bound and options.get("visible") is None:
        task = _show_local_ranks(task, tasks, position)
    if not step.gpus_bound and task.gpus and has_devices():
        count = min(_slurm_gpus(), len(step.allowed.gpus or ()))
        sees_all = options.get("visible") == "all" or \
            (request.get("visible") == "all" and count == len(step.allowed.gpus or ()))
        task = _show_numbered(task, asker.leave_time().node(), step, sees_all)
    # The kernel places memory near the cpus by default, so a bound task needs no policy.
    return _Plan(task, not step.cpus_bound, not step.cpus_bound, not step.gpus_bound)


def _ask_for_bound(asker: _Asker, step: _Step, request: Mapping[str, Any]) -> Optional[Task]:
    """The same request in all tasks: berths for all gpus, or for as many as the job has."""
    count = len(step.allowed.gpus or ())
    of_job = min(_slurm_gpus(), count)
    for berths in [count] + [of_job] * (0 < of_job < count):
        try:
            return _merge(asker.bind(_of_gpus(request, step, berths)).tasks, step.gpus)
        except REFUSALS:
            continue
    return None


# ---- taking it ----

def _memory_policy(task: Task) -> Tuple[int, List[int]]:
    nodes = []
    for name in task.memory:
        match = re.fullmatch(r"numa(\d{1,4})", name, re.ASCII)
        if match is None or int(match[1]) >= 1024:
            raise NotTaken(f"{name} is no NUMA node, and a memory policy names such")
        nodes.append(int(match[1]))
    modes = {"preferred": 5 if len(nodes) > 1 else 1, "bind": 2, "interleave": 3}
    if task.memory_policy not in modes:
        raise NotTaken("a memory policy that this version does not know")
    return modes[task.memory_policy], nodes


class _MemoryPolicy:
    """The memory policy of this thread, by system calls. libnuma is not needed."""

    CALLS = {"x86_64": (239, 238), "aarch64": (236, 237), "ppc64le": (260, 261)}
    WORDS = 1024 // 64

    def __init__(self) -> None:
        if platform.machine() not in self.CALLS:
            raise NotTaken(f"memory policies on {platform.machine()} are not known here")
        self.get, self.set = self.CALLS[platform.machine()]
        self.before = ctypes.c_int(0), (ctypes.c_uint64 * self.WORDS)()
        self._call(self.get, ctypes.byref(self.before[0]), self.before[1],
                   ctypes.c_ulong(1024), None, ctypes.c_ulong(0))

    @staticmethod
    def _call(*arguments: Any) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        if library.syscall(ctypes.c_long(arguments[0]), *arguments[1:]) != 0:
            raise NotTaken("the kernel refuses the memory policy: " +
                           os.strerror(ctypes.get_errno()))

    def _set(self, mode: int, nodes: Any) -> None:
        self._call(self.set, ctypes.c_int(mode), nodes, ctypes.c_ulong(1025))

    def apply(self, mode: int, nodes: Sequence[int]) -> None:
        words = (ctypes.c_uint64 * self.WORDS)()
        for node in nodes:
            words[node // 64] |= 1 << node % 64
        self._set(mode, words)

    def undo(self) -> None:
        self._set(self.before[0].value, self.before[1])


def _set_cpus(cpus: Collection[int]) -> None:
    """Sets the affinity of all threads that have this one's: libraries may have started some."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    if os.sched_getaffinity(0) != set(cpus):
        os.sched_setaffinity(0, before)
        raise NotTaken(f"not all of cpus {format_cpus(cpus)[:60]} may be used here")
    for thread in map(int, os.listdir("/proc/self/task")):
        try:
            if os.sched_getaffinity(thread) == before:
                os.sched_setaffinity(thread, cpus)
        except OSError:
            pass  # it has ended


def _changes(plan: _Plan) -> Dict[str, str]:
    """Variables to set. One that chooses a nic stays where the user or the site has set it: the
    second variable tells berth's own values.
    """
    found = {}
    for name, value in plan.task.environment.items():
        if name in GPU_VARIABLES and not plan.gpus:
            continue
        if name in NIC_VARIABLES:
            mark = f"BERTH_{name}"
            if name in os.environ and os.environ[name] != os.environ.get(mark):
                continue
            found[mark] = value
        found[name] = value
    return found


def _apply(plan: _Plan) -> Dict[str, str]:
    """Takes all of it or nothing, and gives the variables that it has set."""
    task = plan.task
    for name in [*task.environment, *task.unset]:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise NotTaken(f'a variable cannot be called "{name[:40]}"')
    try:
        cpus = parse_cpus(task.cpus)
    except ValueError as error:
        raise NotTaken(str(error)) from None
    memory = None
    if plan.memory and task.memory:
        policy = _memory_policy(task)
        memory = _MemoryPolicy()
        memory.apply(*policy)
    try:
        if plan.cpus:
            _set_cpus(cpus)
    except (OSError, NotTaken) as error:
        if memory is not None:
            memory.undo()
        if isinstance(error, NotTaken):
            raise
        raise NotTaken(f"the kernel refuses cpus {task.cpus[:60]}: {error.strerror}") from None
    changes = _changes(plan)
    os.environ.update(changes)
    for name in task.unset:
        if name not in GPU_VARIABLES or plan.gpus:
            os.environ.pop(name, None)
    return changes


def _warn_late() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        log.warning("take() comes too late: PyTorch has already looked for its GPUs")


def _taken(position: Position, path: Optional[str], timeout: float,
           options: Mapping[str, Any]) -> Berth:
    found = Berth(position.task, position.tasks, position.rank, position.world,
                  position.launcher.launcher if position.launcher is not None else None)
    if position.task is None or position.tasks is None:
        raise NotTaken(position.missing or "no launcher's variables are set")
    with Client(path, timeout=timeout) as client:
        asker = _Asker(client, timeout)
        try:
            step = _find_step(client, position)
            if step.cpus_bound and step.gpus_bound:
                return replace(found, cpus=format_cpus(step.cpus), gpus=tuple(step.gpus))
            plan = _ask(asker, step, position, options)
        except TimedOut:
            raise TimedOut(f"no answer from the daemon within {timeout:g} s") from None
    changes = _apply(plan)
    return replace(found, cpus=plan.task.cpus if plan.cpus else format_cpus(step.cpus),
                   gpus=plan.task.gpus if plan.gpus else tuple(step.gpus),
                   memory=plan.task.memory if plan.memory else (), environment=changes)


def take(
        *,
        gpus_per_task: Optional[int] = None,
        cores_per_task: Optional[int] = None,
        tasks_per_gpu: Optional[int] = None,
        pattern: Optional[Literal["none", "pairs", "ring", "grid2d", "grid3d", "alltoall",
                                  "allreduce"]] = None,
        flows: Optional[Sequence[Flow]] = None,
        bytes: Optional[int] = None,
        host_bytes: Optional[int] = None,
        mechanism: Optional[Literal["best", "copy_engine", "kernel"]] = None,
        order: Optional[Literal["free", "rank"]] = None,
        visible: Optional[Literal["own", "all"]] = None,
        key: Optional[str] = None,
        path: Optional[str] = None,
        timeout: float = 2.0,
        strict: bool = False,
) -> Berth:
    """Takes this task's berth, as berth exec does before it runs a program.

    The launcher's variables tell which task this is; without them it is the one task of one. Sets
    the affinity of all threads that have this one's, the memory policy of this thread, and the
    variables that choose GPUs and NICs. So call it before a GPU runtime is loaded and before large
    memory is touched. A launcher's own binding stays.

    Advice is no requirement: without a berth the program goes on, one line is logged by the first
    task of the node, and the result is false. With strict the error is raised. The options are
    those of bind.
    """
    options = {name: value for name, value in locals().items()
               if name not in ("path", "timeout", "strict")}
    position = find_position(os.environ)
    if position.launcher is None:
        position.task, position.tasks = 0, 1
    _warn_late()
    try:
        return _taken(position, path, timeout, options)
    except Error as error:
        if strict:
            raise
        if not position.task:
            log.warning("%s: this program runs without a berth", error)
        return Berth(position.task, position.tasks, position.rank, position.world,
                     position.launcher.launcher if position.launcher is not None else None,
                     reason=str(error))
