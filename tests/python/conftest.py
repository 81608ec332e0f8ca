"""Daemons for the tests of the Python package. Run with the package on PYTHONPATH or installed."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import Daemon, NODES  # noqa: E402

RECORDED = ("mi250x", "h200x4", "gh200-quad")


@pytest.fixture(scope="session", params=RECORDED)
def node(request):
    """A daemon over each of some recorded nodes."""
    with Daemon("--node", NODES / request.param) as daemon:
        yield daemon


@pytest.fixture(scope="session")
def mi250x():
    with Daemon("--node", NODES / "mi250x") as daemon:
        yield daemon


@pytest.fixture(scope="session")
def h200x4():
    with Daemon("--node", NODES / "h200x4") as daemon:
        yield daemon


@pytest.fixture(scope="session")
def live():
    """A daemon over this machine."""
    with Daemon("--no-probe") as daemon:
        daemon.wait_ready()
        yield daemon
