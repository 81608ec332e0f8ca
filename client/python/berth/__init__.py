"""Placement, allocation, routing and health on a GPU node, asked of its daemon berthd.

    import berth
    berth.take()                        # a rank: its cpus, memory and GPUs
    berth.alloc(1 << 30).options[0]     # where a buffer belongs

Each function asks over a connection of its own; Client keeps one. berth.aio has the same for
asyncio.
"""
from ._here import HERE as HERE, Here as Here
from ._load import load as load
from ._matrix import Matrix as Matrix
from ._memory import (copy as copy, empty as empty, torch_allocator as torch_allocator)
from ._sync import *
from ._take import Berth as Berth, take as take
from ._types import *
from ._version import VERSION as __version__
from .errors import (BadReply as BadReply, Closed as Closed, DaemonError as DaemonError,
                     Error as Error, NoDaemon as NoDaemon, NotTaken as NotTaken,
                     TimedOut as TimedOut)
