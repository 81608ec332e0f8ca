"""Errors of calls. Each is a berth.Error; those that the daemon reports are in berth._types."""
from __future__ import annotations

from typing import Any, Mapping, Optional


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


class Error(Exception):
    """A call that failed. str() is one line for a person.

    name: for programs: that on the wire, such as io.berth.Placement.NotEnough, or that of the
    class. parameters: of the daemon's error, else empty.
    """

    def __init__(self, detail: str, name: Optional[str] = None,
                 parameters: Optional[Mapping[str, Any]] = None):
        super().__init__(_one_line(detail))
        self.name = _one_line(name) if name is not None else type(self).__name__
        self.parameters: Mapping[str, Any] = parameters if parameters is not None else {}


class NoDaemon(Error):
    """Nothing answers on the socket. A program goes on without advice."""


class TimedOut(Error):
    """No complete answer within the time limit."""


class Closed(Error):
    """The daemon closed the connection before its answer. The next call connects again."""


class BadReply(Error):
    """The answer breaks the protocol: too large, not JSON, nested too deeply, or of other types."""


class NotTaken(Error):
    """This process got no berth (berth.take with strict)."""


class DaemonError(Error):
    """An error that the daemon reports."""
