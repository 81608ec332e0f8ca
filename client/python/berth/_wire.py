"""Messages of the protocol as bytes. No sockets: the clients of both kinds share it."""
from __future__ import annotations

import dataclasses
import json
import os
import re
import socket
from typing import Any, Dict, Mapping, NoReturn, Optional, Tuple, Type

from .errors import BadReply, DaemonError

MESSAGE_MOST = 64 << 20  # bytes of one reply, NUL included
VALUES_MOST = 4 << 20  # values of one reply, of 50 to 100 bytes each in memory
READ_BYTES = 1 << 18
RETRY_S = 0.01  # between attempts to connect while the daemon's queue is full


def socket_path(path: Optional[str]) -> str:
    return path or os.environ.get("BERTH_SOCKET") or "/run/berth/berth.sock"


def try_connect(connection: socket.socket, path: str) -> bool:
    """False while the daemon's queue is full; a socket that does not block cannot wait there.

    A path that begins with @ is an abstract name, as for libberth.
    """
    try:
        connection.connect("\0" + path[1:] if path.startswith("@") else path)
    except BlockingIOError:
        return False
    return True


def plain(value: Any) -> Any:
    """A parameter as JSON has it. Fields that are None are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name.rstrip("_"), getattr(value, field.name))
                  for field in dataclasses.fields(value))
        return {name: plain(item) for name, item in fields if item is not None}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def write(method: str, parameters: Mapping[str, Any], more: bool) -> bytes:
    """TypeError or ValueError: a parameter has no form in JSON."""
    message: Dict[str, Any] = {"method": method, "parameters": plain(parameters)}
    if more:
        message["more"] = True
    return json.dumps(message, allow_nan=False).encode() + b"\0"


class Inbox:
    """Bytes from the daemon, taken out message by message."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._looked = 0

    def add(self, data: bytes) -> None:
        self._bytes += data

    def take(self) -> Optional[bytes]:
        """The next message without its NUL; None while it is incomplete."""
        end = self._bytes.find(b"\0", self._looked)
        if (end if end >= 0 else len(self._bytes)) >= MESSAGE_MOST:
            raise BadReply(f"the daemon's answer is longer than {MESSAGE_MOST} bytes")
        if end < 0:
            self._looked = len(self._bytes)
            return None
        message = bytes(self._bytes[:end])
        del self._bytes[:end + 1]
        self._looked = 0
        return message


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is no JSON")


def _has_too_many_values(message: bytes) -> bool:
    """Before each value but the first stands a comma or a bracket."""
    def count(text: bytes) -> int:
        return sum(map(text.count, (b",", b"[", b"{")))
    if count(message) <= VALUES_MOST:
        return False
    return count(re.sub(rb'"[^"]*"', b"", re.sub(rb"\\.", b"", message))) > VALUES_MOST


def _check_texts(value: Any) -> None:
    """ValueError: a text that no other program takes, with a NUL or half a pair of surrogates."""
    if isinstance(value, str):
        value.encode()
        if "\0" in value:
            raise ValueError("a text has a NUL")
    elif isinstance(value, (list, dict)):
        for item in value:
            _check_texts(item)
        if isinstance(value, dict):
            _check_texts(list(value.values()))


def read(message: bytes, errors: Mapping[str, Type[DaemonError]]) -> Tuple[Dict[str, Any], bool]:
    """Parameters of a reply, and whether further replies follow. Raises the error that it reports.

    errors: classes by the last part of the name.
    """
    if _has_too_many_values(message):
        raise BadReply(f"the daemon's answer has more than {VALUES_MOST} values")
    try:
        reply = json.loads(message.decode(), parse_constant=_refuse)
        if b"\\u" in message:
            _check_texts(reply)
    except RecursionError:
        raise BadReply("the daemon's answer is nested too deeply") from None
    except MemoryError:
        raise BadReply("the daemon's answer does not fit into memory") from None
    except ValueError as error:
        raise BadReply(f"the daemon's answer is no JSON: {error}") from None
    if not isinstance(reply, dict):
        raise BadReply("the daemon's answer is no object")
    parameters, continues, name = (reply.get(key) for key in ("parameters", "continues", "error"))
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, dict) or not isinstance(continues, (bool, type(None))) or \
            not isinstance(name, (str, type(None))):
        raise BadReply("the daemon's answer has keys of wrong types")
    if name is not None:
        raise _error(name, parameters, errors)
    return parameters, bool(continues)


def _error(name: str, parameters: Dict[str, Any],
           errors: Mapping[str, Type[DaemonError]]) -> DaemonError:
    kind = errors.get(name.rsplit(".", 1)[-1], DaemonError)
    detail = parameters.get("detail")
    if not isinstance(detail, str) or not detail:
        words = ", ".join(f"{key} {value}" for key, value in parameters.items()
                          if isinstance(value, (str, int)))[:300]
        detail = f"the daemon answers {name}" + (f" ({words})" if words else "")
    return kind(detail, name, parameters)
