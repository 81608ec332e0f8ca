"""Calls of the C library, libberth: memory as Allocate says, and copies as Route says."""
from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_uint, c_void_p
from typing import Any, Optional, Tuple

from . import _wire, errors
from ._types import ERRORS

_OWN_ERRORS = {"NoDaemon": errors.NoDaemon, "TimedOut": errors.TimedOut, "Closed": errors.Closed,
               "Protocol": errors.BadReply}
_lock = threading.Lock()


class _Access(Structure):
    _fields_ = [("by", c_char_p), ("reads_bytes", c_int64), ("writes_bytes", c_int64),
                ("random", c_int), ("cores", c_int)]


class _Request(Structure):
    _fields_ = [("bytes", c_int64), ("accesses", POINTER(_Access)), ("access_count", c_size_t),
                ("kinds", c_uint), ("allowed", c_void_p), ("whole_node", c_int)]


class _Buffer(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_int64), ("allocation", c_void_p), ("how", c_char_p)]


def path() -> str:
    return os.environ.get("BERTH_LIBRARY") or "libberth.so.1"


def _load() -> Any:
    try:
        library = ctypes.CDLL(path())
        library.berth_new.restype = c_void_p
        library.berth_copy_how.restype = library.berth_error_name.restype = c_char_p
        library.berth_error_detail.restype = c_char_p
        library.berth_error_name.argtypes = library.berth_error_detail.argtypes = [c_void_p]
        library.berth_free.argtypes = library.berth_copier_free.argtypes = [c_void_p]
        library.berth_copy_how.argtypes = [c_void_p]
        library.berth_connect.argtypes = [c_void_p, c_char_p]
        library.berth_allocate_request_init.argtypes = [POINTER(_Request)]
        library.berth_alloc.argtypes = [c_void_p, POINTER(_Request), POINTER(POINTER(_Buffer))]
        library.berth_buffer_free.argtypes = [POINTER(_Buffer)]
        library.berth_copier_new.argtypes = [c_void_p, POINTER(c_void_p)]
        library.berth_copy.argtypes = [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p]
    except (OSError, AttributeError) as error:
        raise errors.Error(f"libberth is needed, which BERTH_LIBRARY can name: {error}") from None
    return library


class _Handle:
    """A struct berth, connected where a daemon is."""

    def __init__(self) -> None:
        self.library = _load()
        self.berth = self.library.berth_new()
        if not self.berth:
            raise MemoryError("a handle of libberth")

    def connect(self) -> None:
        self.check(self.library.berth_connect(self.berth, os.fsencode(_wire.socket_path(None))))

    def check(self, status: int) -> None:
        if status >= 0:
            return
        name = self.library.berth_error_name(self.berth).decode(errors="replace")
        detail = self.library.berth_error_detail(self.berth).decode(errors="replace")
        short = name.rsplit(".", 1)[-1]
        raise ERRORS[short](detail, name) if short in ERRORS else \
            _OWN_ERRORS.get(short, errors.Error)(detail, name)

    def close(self) -> None:
        self.library.berth_free(self.berth)


class Copier:
    """One for the process; the next process after a fork makes its own."""

    kept: Optional[Copier] = None

    def __init__(self) -> None:
        self.handle, self.copier = _Handle(), c_void_p()
        try:
            self.handle.connect()
        except errors.Error:
            pass  # then each is one copy
        try:
            self.handle.check(self.handle.library.berth_copier_new(self.handle.berth,
                                                                   byref(self.copier)))
        except errors.Error:
            self.handle.close()
            raise


def copy(to: int, from_: int, size: int, stream: int) -> str:
    """Starts a copy; gives how it is made."""
    with _lock:
        if Copier.kept is None:
            Copier.kept = Copier()
        kept, library = Copier.kept, Copier.kept.handle.library
        kept.handle.check(library.berth_copy(kept.copier, to, from_, size, stream))
        return str(library.berth_copy_how(kept.copier).decode(errors="replace"))


def _forked() -> None:
    """Makes anew what another thread of the parent may use."""
    global _lock
    _lock, Copier.kept = threading.Lock(), None


os.register_at_fork(after_in_child=_forked)


def has_driver() -> bool:
    """Opens CUDA's or HIP's driver where one of them sees a gpu."""
    handle, copier = _Handle(), c_void_p()
    try:
        done = bool(handle.library.berth_copier_new(handle.berth, byref(copier)) >= 0)
        handle.library.berth_copier_free(copier)
        return done
    finally:
        handle.close()


def alloc(size: int, by: Optional[str], reads: int, writes: int, kinds: int,
          whole_node: bool) -> Tuple[Any, Any]:
    """The memory, and the function with its argument that ends it."""
    handle, request, found = _Handle(), _Request(), POINTER(_Buffer)()
    try:
        handle.connect()
        handle.library.berth_allocate_request_init(byref(request))
        request.bytes, request.kinds, request.whole_node = size, kinds, whole_node
        if by is not None:
            access = _Access(by.encode(), reads, writes, 0, 0)
            request.accesses, request.access_count = ctypes.pointer(access), 1
        handle.check(handle.library.berth_alloc(handle.berth, byref(request), byref(found)))
    finally:
        handle.close()
    memory = (ctypes.c_ubyte * size).from_address(found.contents.data)
    return memory, (handle.library.berth_buffer_free, found)
