#!/bin/bash
# Every test, without stopping at the first that fails; the last line is the count. BUILD is the folder of the build. How a test is run and what it
# says with that is in tests/lib/runner.sh. Logs stay in $BUILD/check.
#
# What measures time or waits for it runs alone, so that nothing but the machine disturbs it. Programs that compute, and
# scripts that say "May run beside others.", run as many at a time as there are processors.
set -u
shopt -s globstar # ** reaches the folders below
cd "$(dirname "$0")/.." || exit 70
export BUILD=${BUILD:-build} CMOCKA_MESSAGE_OUTPUT=TAP
export BIN=$BUILD/bin
LOGS=$BUILD/check
rm -rf "$LOGS" && mkdir -p "$LOGS"
. tests/lib/runner.sh

title unit
build programs all units examples standins "$BUILD"/slurm/app "$BUILD"/bench/{advice_run,gpu_curves} BUILD="$BUILD" && together unit "$BUILD/unit/**/test_*" env

title "fault, every allocation and every access to the disk fails in turn"
build faults faults BUILD="$BUILD" && together fault "$BUILD/fault/test_*" env

title "survival: whole daemons whose memory, files and clock fail, that are killed, whose probes will not end"
build survivors survivors BUILD="$BUILD" && mixed survival "tests/survival/*.py" python3

title structure
run structure tests/structure.sh

title "wire, system, install"
each wire "tests/wire/*.sh" env
mixed system "tests/system/*.sh" env
run install tests/install.sh

title "an emulated machine with four NUMA nodes"
run numa env LOG="$LOGS/numa-console.log" tests/numa/run.sh

title "jobs under a private Slurm of one node"
each slurm "tests/slurm/*.sh" env

title packages
skip package "make check-package builds them, installs them in a clean Debian and boots it: minutes, as root"

title "everything again, with AddressSanitizer and UndefinedBehaviorSanitizer"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
if build sanitizers all units examples standins SAN=address,undefined BUILD="$BUILD/san-address-undefined"; then
    together asan "$BUILD/san-address-undefined/unit/**/test_*" env
    # This build of the daemon also checks its own replies against the interface files.
    each "asan wire" "tests/wire/*.sh" env BIN="$BUILD/san-address-undefined/bin"
    mixed "asan system" "$(grep -lw BIN tests/system/*.sh)" env BIN="$BUILD/san-address-undefined/bin"
fi

title "unit, and a daemon whose every thread works, with ThreadSanitizer"
# ThreadSanitizer needs a memory layout that is not randomised too far; where a container forbids that, it is tried as it is.
fixed=(setarch -R) && "${fixed[@]}" true 2>/dev/null || fixed=(env)
if ! grep -rlE 'pthread_create|uv_queue_work' --include='*.c' tests/unit daemon >/dev/null; then
    skip tsan "nothing here starts a thread"
else
    # A program in which nothing can start a thread has no race; one that loads libraries may get threads from them.
    threaded=()
    for program in "$BUILD"/unit/**/test_*; do
        [ ! -x "$program" ] || ! nm -u "$program" | grep -qE ' (pthread_create|uv_queue_work|dlopen)(@|$)' || threaded+=("$BUILD/san-thread/unit/${program#"$BUILD"/unit/}")
    done
    build threads all "${threaded[@]}" SAN=thread BUILD="$BUILD/san-thread" && together tsan "${threaded[*]}" "${fixed[@]}" &&
        run "tsan pool" env BIN="$BUILD/san-thread/bin" TSAN_OPTIONS="suppressions=$PWD/tests/lib/tsan.supp" "${fixed[@]}" python3 tests/survival/pool.py &&
        each "tsan" "tests/system/load.sh tests/system/plans.sh" "${fixed[@]}" env BIN="$BUILD/san-thread/bin"
fi

title "fuzz, a few seconds each"
if ! compgen -G 'tests/fuzz/fuzz_*.c' >/dev/null; then
    skip fuzz "there are no fuzz targets"
elif ! command -v clang >/dev/null; then
    skip fuzz "clang is not here"
else
    build fuzzers fuzzers BUILD="$BUILD/fuzz" CC=clang SAN=address,undefined CFLAGS="-O1 -g1 -fsanitize=fuzzer-no-link" &&
        together fuzz "$BUILD/fuzz/fuzzers/fuzz_*" tests/lib/fuzz.sh
fi

summary
