"""Connections to the daemon for asyncio."""
from __future__ import annotations

import asyncio
import socket
from types import TracebackType
from typing import Any, AsyncIterator, Dict, Mapping, Optional, Type, TypeVar

from . import _wire
from ._connection import GET_NODE, TIMEOUT_S, Base, Deadline, no_daemon
from ._here import complete, needs_node
from ._readers import read
from ._types import ERRORS, GetNodeReply
from .errors import Closed

T = TypeVar("T")


class AsyncConnection(Base):
    """Calls in order, in one event loop; each call waits for the one before."""

    def __init__(self, path: Optional[str] = None, *, timeout: Optional[float] = TIMEOUT_S):
        super().__init__(path, timeout=timeout)
        self._turn: Optional[asyncio.Lock] = None

    async def __aenter__(self: T) -> T:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._drop()

    def _lock(self) -> asyncio.Lock:
        """Made in the event loop, to which older versions of Python tie it."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        return self._turn

    def _forked(self) -> None:
        super()._forked()
        self._turn = None

    async def _connect(self) -> socket.socket:
        if self._socket is not None:
            return self._socket
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        try:
            while not _wire.try_connect(self._socket, self.path):
                await asyncio.sleep(_wire.RETRY_S)
        except OSError as error:
            raise no_daemon(self.path, error) from None
        return self._socket

    async def _talk(self, message: Optional[bytes]) -> bytes:
        connection, loop = await self._connect(), asyncio.get_running_loop()
        if message is not None:
            await loop.sock_sendall(connection, message)
        while (reply := self._inbox.take()) is None:
            data = await loop.sock_recv(connection, _wire.READ_BYTES)
            if not data:
                raise Closed("the daemon closed the connection before its answer")
            self._inbox.add(data)
        return reply

    async def _exchange(self, message: Optional[bytes], timeout: Optional[float]) -> bytes:
        """Sends a message, if any, and gives the next reply. A failure ends the connection."""
        try:
            return await asyncio.wait_for(self._talk(message), timeout)
        except asyncio.TimeoutError:
            self._drop()
            raise Deadline(timeout).late() from None
        except OSError as error:
            self._drop()
            raise Closed(f"the connection to the daemon broke: {error}") from None
        except BaseException:
            self._drop()
            raise

    async def call(self, method: str, **parameters: Any) -> Dict[str, Any]:
        """Parameters of the reply, as JSON has them, of any method by its whole name."""
        return await self._raw(method, parameters)

    async def _raw(self, method: str, parameters: Mapping[str, Any]) -> Dict[str, Any]:
        message = _wire.write(method, parameters, False)
        async with self._lock():
            return self._only(await self._exchange(message, self.timeout))

    async def stream(self, method: str, **parameters: Any) -> AsyncIterator[Dict[str, Any]]:
        """Parameters of each reply, over a connection of its own, without a time limit."""
        message: Optional[bytes] = _wire.write(method, parameters, True)
        async with AsyncConnection(self.path, timeout=self.timeout) as connection:
            try:
                await asyncio.wait_for(connection._connect(), self.timeout)
            except asyncio.TimeoutError:
                raise Deadline(self.timeout).late() from None
            continues = True
            while continues:
                reply = await connection._exchange(message, None)
                found, continues = _wire.read(reply, ERRORS)
                message = None
                yield found

    async def _ask(self, method: str, parameters: Mapping[str, Any], kind: Type[T]) -> T:
        return read(kind, await self._raw(method, parameters), method)

    async def _follow(self, method: str, parameters: Mapping[str, Any],
                      kind: Type[T]) -> AsyncIterator[T]:
        async for reply in self.stream(method, **parameters):
            yield read(kind, reply, method)

    async def _say_here(self, parameters: Dict[str, Any]) -> None:
        node = await self._ask(GET_NODE, {}, GetNodeReply) if needs_node(parameters) else None
        complete(parameters, node)
