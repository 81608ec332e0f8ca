"""Runs tests in order and prints TAP."""
import traceback


def run_tests(tests):
    """The number of those that failed, whatever they raised."""
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {test.__name__}", flush=True)
        except Exception:  # every failure is told, whatever it was
            failed += 1
            print(f"not ok {number} - {test.__name__}", flush=True)
            print("".join("# " + line for line in traceback.format_exc().splitlines(True)), flush=True)
    print(f"1..{len(tests)}")
    return failed
