"""Runs tests and prints TAP in their order."""
import concurrent.futures
import contextlib
import io
import multiprocessing
import signal
import sys
import time
import traceback


class LeftOut(Exception):
    """A test that cannot run here, with the reason."""


def run_one(numbered):
    """Prints the result of one test; True when it failed."""
    number, test = numbered
    begin = time.monotonic()
    try:
        test()
        print(f"ok {number} - {test.__name__} # {time.monotonic() - begin:.1f} s", flush=True)
    except LeftOut as why:
        print(f"ok {number} - {test.__name__} # SKIP {why}", flush=True)
    except Exception:  # every failure is printed
        print(f"not ok {number} - {test.__name__}", flush=True)
        print("".join("# " + line for line in traceback.format_exc().splitlines(True)),
              flush=True)
        return True
    return False


def run_aside(numbered):
    """The same in another process, with the output as text."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        failed = run_one(numbered)
    return failed, text.getvalue()


def run_tests(tests, at_once=1):
    """Runs the functions named by the command line, or all.

    Returns the number of failures, for any exception. A test that raises LeftOut counts as neither.
    at_once: so many at the same time, each in a process, where tests wait rather than compute.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # ends the tests' children too
    failed, wanted = 0, sys.argv[1:]
    chosen = [(number, test) for number, test in enumerate(tests, 1)
              if not wanted or test.__name__ in wanted]
    if at_once == 1:
        failed = sum(map(run_one, chosen))
    else:
        pool = concurrent.futures.ProcessPoolExecutor(at_once, multiprocessing.get_context("fork"))
        try:
            for its, text in pool.map(run_aside, chosen):
                failed += its
                print(text, end="", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    print(f"1..{len(tests)}")
    return failed
