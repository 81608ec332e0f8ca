"""Resources that this process may use. A daemon cannot see another process's restrictions.

The rules are those of client/lib/allowed.c and client/lib/visible_gpus.c.
"""
from __future__ import annotations

import enum
import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ._types import Allowed, GetNodeReply, Place

CPUS_MOST = 16384
GPUS_MOST = 256


class Here(enum.Enum):
    """Default of allowed and key: what this process may use, and its job's key."""

    HERE = "here"


HERE = Here.HERE


def parse_cpus(text: str) -> FrozenSet[int]:
    """ValueError: text is no list such as 0-3,8."""
    found: Set[int] = set()
    for part in text.strip().split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part, re.ASCII)
        if match is None:
            raise ValueError(f"{text[:60]} is no list of cpus")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < CPUS_MOST:
            raise ValueError(f"{text[:60]} is no list of cpus")
        found.update(range(first, last + 1))
    return frozenset(found)


def format_cpus(cpus: Iterable[int]) -> str:
    parts: List[List[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def allowed_memory() -> Optional[Tuple[str, ...]]:
    """Only existing nodes: Mems_allowed may name nodes that the machine lacks. None: unknown."""
    try:
        with open("/proc/thread-self/status", encoding="ascii", errors="replace") as file:
            line = re.search(r"^Mems_allowed_list:\s*(\S+)", file.read(), re.M)
        with open("/sys/devices/system/node/online", encoding="ascii") as file:
            online = parse_cpus(file.read())
        return tuple(f"numa{n}" for n in sorted(parse_cpus(line[1]) & online)) if line else None
    except (OSError, ValueError):
        return None


def has_devices() -> bool:
    return any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd", "/dev/dri")))


@dataclass
class Gpu:
    place: Place
    is_nvidia: bool
    is_usable: bool
    driver_order: int  # -1: unknown


def _may_open(path: str) -> bool:
    """Asks for permission, device cgroup included. Opening could wake a gpu for seconds."""
    return os.access(path, os.R_OK | os.W_OK, effective_ids=True)


def _gpu(place: Place) -> Gpu:
    order = place.details.get("kfd_node")
    words = f"{place.details.get('vendor', '')}\n{place.model or ''}".lower()
    is_nvidia = order is None and ("nvidia" in words or "10de" in words)
    usable = True  # the device of this gpu is unknown, so nothing forbids it
    if is_nvidia and place.minor is not None and place.minor >= 0:
        usable = _may_open(f"/dev/nvidia{place.minor}")
    elif place.render_node is not None:
        usable = _may_open(place.render_node) and (order is None or _may_open("/dev/kfd"))
    number = re.match(r"\d+", order or "", re.ASCII)
    return Gpu(place, is_nvidia, usable, int(number[0]) if number else -1 if order is None else 0)


def gpus_of(node: GetNodeReply) -> List[Gpu]:
    """Gpus of the node; usable: this process may open their devices."""
    return [_gpu(place) for place in node.places if place.kind == "gpu"][:GPUS_MOST]


@dataclass
class _Sequence:
    """Gpus in a runtime's order of counting. is_counted: a number in a list has a known meaning."""

    gpus: List[Gpu] = field(default_factory=list)
    is_counted: bool = True

    def _find(self, token: str) -> Optional[Tuple[Gpu, ...]]:
        """Gpus of a token. Empty: it is bad and ends the list. None: its meaning is unknown."""
        if len(token) > 4 and token.startswith(("GPU-", "MIG-")):
            uuids = [gpu.place.uuid for gpu in self.gpus]
            found = tuple(gpu for gpu, uuid in zip(self.gpus, uuids)
                          if uuid is not None and uuid.lower().startswith(token.lower()))
            return found or (() if None not in uuids and token.startswith("GPU-") else None)
        if not re.fullmatch(r"\d+", token, re.ASCII) or int(token[:9]) >= len(self.gpus):
            return ()
        return (self.gpus[int(token)],) if self.is_counted else None

    def narrow(self, text: Optional[str]) -> None:
        """Keeps the gpus of the list, in its order."""
        kept: List[Gpu] = []
        for token in [] if text is None else text.split(","):
            found = self._find(token.strip(" \t"))
            if found is None:
                return
            if not found:
                break
            kept += found
            if len(kept) > GPUS_MOST:
                break
        if text is not None:
            self.gpus, self.is_counted = kept, True


def narrow(gpus: Sequence[Gpu], variables: Mapping[str, str]) -> List[Gpu]:
    """The usable gpus that visible-device variables leave to a runtime, in the node's order."""
    usable = [gpu for gpu in gpus if gpu.is_usable]
    nvidia = _Sequence([gpu for gpu in usable if gpu.is_nvidia])
    cuda, rocr, hip = map(variables.get, ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                          "HIP_VISIBLE_DEVICES"))
    models = {gpu.place.model for gpu in nvidia.gpus}
    nvidia.is_counted = (len(models) <= 1 and None not in models) or \
        variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    nvidia.narrow(cuda)
    amd = _Sequence([gpu for gpu in usable if not gpu.is_nvidia])
    amd.is_counted = all(gpu.driver_order >= 0 for gpu in amd.gpus)
    if amd.is_counted:
        amd.gpus.sort(key=lambda gpu: gpu.driver_order)
    amd.narrow(rocr)
    # HIP reads CUDA_VISIBLE_DEVICES when its own is not set. Slurm sets ROCR's and CUDA's to one
    # list, which means these gpus.
    if hip is not None or cuda is None or cuda != rocr:
        amd.narrow(hip if hip is not None else cuda)
    left = {gpu.place.name for gpu in nvidia.gpus + amd.gpus}
    return [gpu for gpu in usable if gpu.place.name in left]


def is_job(text: Optional[str]) -> bool:
    return text is not None and re.fullmatch(r"\d{1,20}", text, re.ASCII) is not None


def default_key() -> Optional[str]:
    """BERTH_KEY, else one within the claim of the Slurm job."""
    key, job = os.environ.get("BERTH_KEY"), os.environ.get("SLURM_JOB_ID")
    if key is not None:
        return key or None
    return f"slurm/{job}.bind" if is_job(job) else None


def needs_node(parameters: Mapping[str, Any]) -> bool:
    return parameters["allowed"] is HERE and has_devices()


def complete(parameters: Dict[str, Any], node: Optional[GetNodeReply]) -> None:
    """Replaces HERE. Of a whole node (allowed None) a plan has no default key."""
    if parameters.get("key") is HERE:
        parameters["key"] = default_key() if parameters["allowed"] is not None else None
    if parameters["allowed"] is HERE:
        gpus = narrow(gpus_of(node), os.environ) if node is not None else []
        parameters["allowed"] = Allowed(cpus=format_cpus(os.sched_getaffinity(0)),
                                        memory=allowed_memory(),
                                        gpus=tuple(gpu.place.name for gpu in gpus))
