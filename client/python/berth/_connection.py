"""Connections to the daemon, for programs without asyncio, and the part that both kinds share."""
from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from types import TracebackType
from typing import Any, Dict, Iterator, Mapping, Optional, Type, TypeVar

from . import _wire
from ._here import complete, needs_node
from ._readers import read
from ._types import ERRORS, GetNodeReply
from .errors import BadReply, Closed, Error, NoDaemon, TimedOut

T = TypeVar("T")
TIMEOUT_S = 30.0
GET_NODE = "io.berth.Fabric.GetNode"


_kept: weakref.WeakSet[Base] = weakref.WeakSet()


def _forked() -> None:
    for connection in list(_kept):
        connection._forked()


os.register_at_fork(after_in_child=_forked)


class Deadline:
    """The end of a call; None: never."""

    def __init__(self, seconds: Optional[float]):
        self.seconds = seconds
        self.end = None if seconds is None else time.monotonic() + seconds

    def late(self) -> TimedOut:
        return TimedOut(f"no answer from the daemon within {self.seconds:g} s")

    def left(self) -> Optional[float]:
        """Seconds that are left, above 0; None: no end."""
        if self.end is None:
            return None
        left = self.end - time.monotonic()
        if left <= 0:
            raise self.late()
        return left


def no_daemon(path: str, error: OSError) -> Error:
    if isinstance(error, (FileNotFoundError, ConnectionRefusedError)):
        return NoDaemon(f"no daemon at {path}")
    return NoDaemon(f"cannot reach the daemon at {path}: {error.strerror or error}")


class Base:
    def __init__(self, path: Optional[str] = None, *, timeout: Optional[float] = TIMEOUT_S):
        """path: of the socket; None: BERTH_SOCKET or the installed one. timeout: seconds of a call,
        connecting included; None: no limit. It connects with the first call, and again when it has
        to.
        """
        self.path, self.timeout = _wire.socket_path(path), timeout
        self._socket: Optional[socket.socket] = None
        self._inbox = _wire.Inbox()
        _kept.add(self)

    def _drop(self) -> None:
        connection, self._socket = self._socket, None
        self._inbox = _wire.Inbox()
        if connection is not None:
            connection.close()

    def _only(self, reply: bytes) -> Dict[str, Any]:
        parameters, continues = _wire.read(reply, ERRORS)
        if continues:
            self._drop()
            raise BadReply("the daemon announces more answers than were asked for")
        return parameters

    def _forked(self) -> None:
        """A child of fork leaves the connection to its parent."""
        self._drop()


class Connection(Base):
    """Calls in order. Threads may share it; each call waits for the one before."""

    def __init__(self, path: Optional[str] = None, *, timeout: Optional[float] = TIMEOUT_S):
        super().__init__(path, timeout=timeout)
        self._lock = threading.Lock()

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._drop()

    def _forked(self) -> None:
        super()._forked()
        self._lock = threading.Lock()  # another thread of the parent may hold the old one

    def _connect(self, deadline: Deadline) -> socket.socket:
        if self._socket is not None:
            return self._socket
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(0)
        try:
            while not _wire.try_connect(self._socket, self.path):
                deadline.left()
                time.sleep(_wire.RETRY_S)
        except OSError as error:
            raise no_daemon(self.path, error) from None
        return self._socket

    def _send(self, message: bytes, deadline: Deadline) -> None:
        connection = self._connect(deadline)
        connection.settimeout(deadline.left())
        connection.sendall(message)

    def _receive(self, deadline: Deadline) -> bytes:
        connection = self._connect(deadline)
        while (message := self._inbox.take()) is None:
            connection.settimeout(deadline.left())
            data = connection.recv(_wire.READ_BYTES)
            if not data:
                raise Closed("the daemon closed the connection before its answer")
            self._inbox.add(data)
        return message

    def _exchange(self, message: Optional[bytes], deadline: Deadline) -> bytes:
        """Sends a message, if any, and gives the next reply. A failure ends the connection."""
        try:
            if message is not None:
                self._send(message, deadline)
            return self._receive(deadline)
        except socket.timeout:
            self._drop()
            raise deadline.late() from None
        except OSError as error:
            self._drop()
            raise Closed(f"the connection to the daemon broke: {error}") from None
        except BaseException:
            self._drop()
            raise

    def call(self, method: str, **parameters: Any) -> Dict[str, Any]:
        """Parameters of the reply, as JSON has them, of any method by its whole name."""
        return self._raw(method, parameters)

    def _raw(self, method: str, parameters: Mapping[str, Any]) -> Dict[str, Any]:
        message = _wire.write(method, parameters, False)
        with self._lock:
            return self._only(self._exchange(message, Deadline(self.timeout)))

    def stream(self, method: str, **parameters: Any) -> Iterator[Dict[str, Any]]:
        """Parameters of each reply, over a connection of its own, without a time limit.

        To leave early, close the iterator.
        """
        message: Optional[bytes] = _wire.write(method, parameters, True)
        with Connection(self.path, timeout=self.timeout) as connection:
            connection._connect(Deadline(self.timeout))
            continues = True
            while continues:
                reply = connection._exchange(message, Deadline(None))
                found, continues = _wire.read(reply, ERRORS)
                message = None
                yield found

    def _ask(self, method: str, parameters: Mapping[str, Any], kind: Type[T]) -> T:
        return read(kind, self._raw(method, parameters), method)

    def _follow(self, method: str, parameters: Mapping[str, Any], kind: Type[T]) -> Iterator[T]:
        for reply in self.stream(method, **parameters):
            yield read(kind, reply, method)

    def _say_here(self, parameters: Dict[str, Any]) -> None:
        node = self._ask(GET_NODE, {}, GetNodeReply) if needs_node(parameters) else None
        complete(parameters, node)
