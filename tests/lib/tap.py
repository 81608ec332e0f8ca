"""Runs tests in order and prints TAP."""
import signal
import sys
import time
import traceback


class LeftOut(Exception):
    """A test that cannot run here, with the reason."""


def run_tests(tests):
    """Runs the functions named by the command line, or all.

    Returns the number of failures, for any exception. A test that raises LeftOut counts as neither.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # ends the tests' children too
    failed, wanted = 0, sys.argv[1:]
    for number, test in enumerate(tests, 1):
        if wanted and test.__name__ not in wanted:
            continue
        begin = time.monotonic()
        try:
            test()
            print(f"ok {number} - {test.__name__} # {time.monotonic() - begin:.1f} s", flush=True)
        except LeftOut as why:
            print(f"ok {number} - {test.__name__} # SKIP {why}", flush=True)
        except Exception:  # every failure is printed
            failed += 1
            print(f"not ok {number} - {test.__name__}", flush=True)
            print("".join("# " + line for line in traceback.format_exc().splitlines(True)),
                  flush=True)
    print(f"1..{len(tests)}")
    return failed
