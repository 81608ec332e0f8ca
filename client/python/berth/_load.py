"""Loads a model's weights to a gpu: file pages, pinned memory, and copies as Route advises."""
from __future__ import annotations

import importlib
import inspect
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Union

from . import _memory
from ._sync import node
from .errors import Error

PIECE = 64 << 20  # bytes of each of two pinned buffers


def gpu_of(torch: Any, device: Any) -> Optional[str]:
    """The daemon's name of a gpu of PyTorch's, by its PCI address. None: unknown."""
    if device.type != "cuda":
        return None
    its = torch.cuda.get_device_properties(device)
    address = tuple(getattr(its, name, None) for name in
                    ("pci_domain_id", "pci_bus_id", "pci_device_id"))
    hexadecimal = "([0-9a-fA-F]{1,8})"
    for place in node().places:
        its = re.fullmatch(rf"{hexadecimal}:{hexadecimal}:{hexadecimal}\.\d", place.pci or "")
        if place.kind == "gpu" and its is not None and \
                tuple(int(part, 16) for part in its.groups()) == address:
            return place.name
    return None


def _read(torch: Any, path: str) -> Mapping[str, Any]:
    """Tensors whose bytes are pages of the file, where the format and PyTorch allow that."""
    if path.endswith(".safetensors"):
        found: Mapping[str, Any] = importlib.import_module("safetensors.torch").load_file(path)
        return found
    mapped = {"mmap": True} if "mmap" in inspect.signature(torch.load).parameters else {}
    found = torch.load(path, map_location="cpu", weights_only=True, **mapped)
    if not isinstance(found, Mapping):
        raise Error(f"{path} has a {type(found).__name__}, not a state dict")
    return found


class _Stage:
    """Two buffers: one is filled while the other is copied."""

    def __init__(self, torch: Any, device: Any):
        self.torch, self.device, self.turn, self.used = torch, device, 0, 0
        is_gpu = device.type == "cuda"
        self.stream = torch.cuda.current_stream(device) if is_gpu else None
        self.copied: List[Any] = [None, None]  # events
        try:
            by = gpu_of(torch, device)
            self.buffers = [_memory.empty(PIECE, torch.uint8, by=by) for _ in range(2)]
        except Error:  # advice is no requirement
            self.buffers = [torch.empty(PIECE, dtype=torch.uint8, pin_memory=is_gpu)
                            for _ in range(2)]

    def room(self, size: int) -> Any:
        if self.used + size > PIECE:
            if self.stream is not None:
                self.copied[self.turn] = self.stream.record_event()
            self.turn, self.used = 1 - self.turn, 0
            if self.copied[self.turn] is not None:
                self.copied[self.turn].synchronize()
        at = self.used
        self.used += (size + 255) // 256 * 256
        return self.buffers[self.turn][at:at + size]

    def put(self, value: Any) -> Any:
        torch = self.torch
        if value.layout != torch.strided or value.device.type != "cpu" or value.is_quantized:
            return value.to(self.device)
        target = torch.empty(value.shape, dtype=value.dtype, device=self.device)
        value = value.detach().resolve_conj().resolve_neg()
        from_, to = (its.reshape(-1).view(torch.uint8) for its in (value, target))
        for begin in range(0, len(from_), PIECE):
            piece = from_[begin:begin + PIECE]
            room = self.room(len(piece))
            room.copy_(piece)
            _memory.copy(to[begin:begin + PIECE], room, self.stream)
        return target


def load(source: Union[str, "os.PathLike[str]", Mapping[str, Any]],
         device: Any = "cuda") -> Dict[str, Any]:
    """The tensors of a state dict on a gpu, by name; those that are one tensor stay one.

    source: a state dict, a file of torch.save, or one of safetensors (by its ending; needs that
    package). Files are read with weights_only. What is no tensor stays as it is. Copies follow the
    work in PyTorch's current stream, and are done on return. Without a daemon PyTorch's own pinned
    memory is used.
    """
    torch = importlib.import_module("torch")
    state = source if isinstance(source, Mapping) else _read(torch, os.fspath(source))
    stage, found, done = _Stage(torch, torch.device(device)), {}, {}
    for name, value in state.items():
        if not isinstance(value, torch.Tensor):
            found[name] = value
            continue
        key = (value.data_ptr(), value.dtype, value.shape, value.stride(), value.is_conj(),
               value.is_neg()) \
            if value.layout == torch.strided else name
        if key not in done:
            done[key] = stage.put(value)
        found[name] = done[key]
    if stage.stream is not None:
        stage.stream.synchronize()
    return found
