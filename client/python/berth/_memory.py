"""Host memory where Allocate puts it, and copies as Route advises, for numpy and PyTorch."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import math
import re
import sys
import weakref
from typing import Any, Literal, NamedTuple, Optional, Sequence, Union

from . import _library
from ._here import HERE, Here
from ._matrix import _module
from .errors import Error

SYSTEM, PINNED = 1 << 1, 1 << 2  # enum berth_memory_kind
Operation = Literal["read", "write", "both"]
Placement = Literal["device", "pinned", "managed"]


def _torch() -> Any:
    """PyTorch where the program has imported it, else None."""
    return sys.modules.get("torch")


def empty(shape: Union[int, Sequence[int]], dtype: Any = None, *, by: Optional[str] = None,
          operation: Operation = "read", allowed: Optional[Here] = HERE) -> Any:
    """Host memory on the NUMA node that Allocate names; pinned where a gpu driver is.

    shape: elements; of dtype None bytes. dtype: of PyTorch for a tensor, else of numpy for an
    array; without numpy a letter of the struct module for a memoryview. by: the place that
    uses the memory, such as gpu0, and operation what that does with each byte once; None: this
    process reads. allowed None: of the whole node. Needs libberth: BERTH_LIBRARY, or the
    loader's libberth.so.1. The memory ends with its last view; copies must be done by then.
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    torch, numpy = _torch(), _module("numpy")
    is_tensor = torch is not None and isinstance(dtype, torch.dtype)
    if is_tensor:
        item = torch.empty(0, dtype=dtype).element_size()
    elif numpy is not None:
        dtype = numpy.dtype("u1" if dtype is None else dtype)
        item = dtype.itemsize
    else:
        dtype = "B" if dtype is None else dtype
        item = memoryview(bytes(8)).cast(dtype).itemsize
    size = math.prod(sizes) * item
    if size < 1 or min(sizes, default=1) < 1:
        raise ValueError(f"memory of shape {sizes} has no bytes")
    if size >= 1 << 63:
        raise ValueError(f"memory of shape {sizes} has too many bytes")
    if operation not in ("read", "write", "both"):
        raise ValueError(f"operation is read, write or both, not {operation!r:.40}")
    memory, (end, argument) = _library.alloc(
        size, by, size if operation != "write" else 0, size if operation != "read" else 0,
        PINNED if _library.has_driver() else SYSTEM, allowed is None)
    weakref.finalize(memory, end, argument).atexit = False  # views may live longer
    if is_tensor:
        return torch.frombuffer(memory, dtype=dtype).reshape(sizes)
    if numpy is not None:
        return numpy.frombuffer(memory, dtype).reshape(sizes)
    return memoryview(memory).cast("B").cast(dtype, list(sizes))


class _End(NamedTuple):
    """One end of a copy. device: PyTorch's, of a tensor on a gpu."""

    address: int
    size: int
    is_writable: bool
    is_host: bool
    device: Any = None


def _item_size(thing: Any, typestr: str, name: str) -> int:
    """Of an array's items, which are plain bytes: an object of Python's counts its owners."""
    match = re.match(r"[<>|=]?[A-Za-z](\d+)", typestr)
    if match is None or getattr(getattr(thing, "dtype", None), "hasobject", False):
        raise ValueError(f"{name} has items of type {typestr}")
    return int(match[1])


def _end(thing: Any, name: str) -> _End:
    torch = _torch()
    if torch is not None and isinstance(thing, torch.Tensor):
        if not thing.is_contiguous():
            raise ValueError(f"{name} is not contiguous")
        if thing.is_conj() or thing.is_neg():
            raise ValueError(f"{name} is a conjugate or a negative that nothing has computed yet")
        size = thing.numel() * thing.element_size()
        if size > 0 and thing.data_ptr() == 0:
            raise ValueError(f"{name} has no memory: its device is {thing.device}")
        return _End(thing.data_ptr(), size, True, not thing.is_cuda,
                    thing.device if thing.is_cuda else None)
    about = getattr(thing, "__cuda_array_interface__", None)
    is_host = about is None
    about = getattr(thing, "__array_interface__", None) if is_host else about
    if about is None:
        try:
            view, numpy = memoryview(thing), _module("numpy")
        except TypeError:
            raise TypeError(f"{name} is a {type(thing).__name__}: no array, tensor or buffer") \
                from None
        if not view.c_contiguous:
            raise ValueError(f"{name} is not contiguous")
        if numpy is None:
            if view.readonly:
                raise ValueError(f"{name} is a read-only buffer, which needs numpy")
            memory = (ctypes.c_ubyte * view.nbytes).from_buffer(view)
            return _End(ctypes.addressof(memory), view.nbytes, True, True)
        about = numpy.frombuffer(view, "u1").__array_interface__
    if about.get("strides") is not None:
        raise ValueError(f"{name} is not contiguous")
    address, is_readonly = about["data"]
    size = math.prod(about["shape"]) * _item_size(thing, about["typestr"], name)
    return _End(address, size, not is_readonly, is_host)


def copy(dst: Any, src: Any, stream: Any = None) -> str:
    """Copies all bytes of src to dst as Route advises, and gives how: berth_copy of libberth.

    Arrays of numpy and others with __cuda_array_interface__, tensors, and buffers, all contiguous
    and of one size. stream: of PyTorch, or CUDA's or HIP's handle as a number. None: PyTorch's
    current stream of the tensor's gpu, else the default stream. Returns before the copy is done:
    both ends must stay, and src unchanged, until the stream is there.
    """
    to, from_ = _end(dst, "dst"), _end(src, "src")
    if to.size != from_.size:
        raise ValueError(f"dst has {to.size} bytes and src has {from_.size}")
    if not to.is_writable:
        raise ValueError("dst is read-only")
    if to.size == 0:
        return "no bytes"
    if to.is_host and from_.is_host and stream is None:
        ctypes.memmove(to.address, from_.address, to.size)
        return "memmove: both ends are in the host's memory"
    device = to.device if to.device is not None else from_.device
    where: Any = contextlib.nullcontext()
    if device is not None:
        torch = _torch()
        stream = torch.cuda.current_stream(device) if stream is None else stream
        where = torch.cuda.device(device)
    with where:
        return _library.copy(to.address, from_.address, to.size,
                             int(getattr(stream, "cuda_stream", stream) or 0))


@functools.lru_cache(maxsize=None)
def torch_allocator(placement: Placement = "device") -> Any:
    """An allocator for PyTorch's gpu memory: torch.cuda.memory.CUDAPluggableAllocator.

    device: the gpu's own memory. pinned: host memory on the NUMA node that Allocate names, which
    kernels read over the link. managed: moves where it is touched, preferably in the gpu's. Give
    it to a pool, and PyTorch keeps what it got: torch.cuda.MemPool(found.allocator()). Pools borrow
    the allocator, so it stays for good.
    """
    if placement not in ("device", "pinned", "managed"):
        raise ValueError(f"placement is device, pinned or managed, not {placement!r:.40}")
    memory = importlib.import_module("torch.cuda.memory")
    if not hasattr(memory, "CUDAPluggableAllocator"):
        raise Error("this PyTorch has no CUDAPluggableAllocator: version 2.0 has it")
    return memory.CUDAPluggableAllocator(_library.path(), f"berth_torch_{placement}",
                                         "berth_torch_free")
