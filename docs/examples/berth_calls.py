#!/usr/bin/env python3
"""Calls libberth from Python, with nothing but ctypes: every method of the daemon by berth_call, parameters and replies as dictionaries.

usage: berth_calls.py FROM TO SIZE: where a buffer of SIZE bytes that FROM reads belongs, and the path from FROM to TO.
BERTH_LIBRARY names another libberth.so.1 than the installed one."""
import ctypes
import json
import os
import sys


class BerthError(Exception):
    """name: of the error on the wire, or such as "NoDaemon"; str() is the line for a person."""

    def __init__(self, name, detail):
        super().__init__(detail)
        self.name = name


def load():
    """The library with the types of the few functions that are called. Without restype a pointer would be cut to an int."""
    library = ctypes.CDLL(os.environ.get("BERTH_LIBRARY", "libberth.so.1"))
    handle, text = ctypes.c_void_p, ctypes.c_char_p
    for name, result, *arguments in (
            ("berth_new", handle), ("berth_free", None, handle), ("berth_connect", ctypes.c_int, handle, text), ("berth_set_timeout", None, handle, ctypes.c_int),
            ("berth_error_name", text, handle), ("berth_error_detail", text, handle),
            ("berth_call", ctypes.c_int, handle, text, text, ctypes.POINTER(ctypes.c_void_p))):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Berth:
    """A connection. One thread at a time; ctypes lets other threads run during a call."""

    def __init__(self, path=None, timeout_ms=2000):
        self.library = load()
        self.libc = ctypes.CDLL(None)
        self.libc.free.argtypes = [ctypes.c_void_p]
        self.handle = self.library.berth_new()
        if self.handle is None:
            raise MemoryError
        self.library.berth_set_timeout(self.handle, timeout_ms)
        self.check(self.library.berth_connect(self.handle, None if path is None else os.fsencode(path)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.library.berth_free(self.handle)
        self.handle = None

    def check(self, status):
        if status < 0:
            raise BerthError(self.library.berth_error_name(self.handle).decode(), self.library.berth_error_detail(self.handle).decode())

    def call(self, method, **parameters):
        """The reply's parameters. The text is the caller's to free, with the C library's free."""
        reply = ctypes.c_void_p()
        self.check(self.library.berth_call(self.handle, ("io.berth." + method).encode(), json.dumps(parameters).encode(), ctypes.byref(reply)))
        try:
            return json.loads(ctypes.string_at(reply.value))
        finally:
            self.libc.free(reply)


def main():
    if len(sys.argv) != 4:
        print(__doc__.splitlines()[2], file=sys.stderr)
        return 64
    source, target, size = sys.argv[1:]
    if not (size.isascii() and size.isdigit()):
        print(f"berth_calls: SIZE is a number of bytes, not {size}", file=sys.stderr)
        return 64
    size = int(size)
    try:
        with Berth() as berth:
            allocation = berth.call("Placement.Allocate", bytes=size, accesses=[{"by": source, "reads_bytes": size, "writes_bytes": 0}])
            best = allocation["options"][0]
            print(f"allocate on {best['memory']}: {best['call']}")
            route = berth.call("Placement.Route", **{"from": source, "to": target, "bytes": size})
            best = route["options"][0]
            time_ns = best["predicted"]["time_ns"]
            print(f"copy by {best['segments'][0]['mechanism']} in {time_ns / 1e6:.3f} ms: {best['call']}")
    except BerthError as error:
        print(f"berth_calls: {error} ({error.name})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
