#!/bin/bash
# make fuzz: every libFuzzer target, then whole daemons by messages made from the interface files, with sanitizers and under valgrind (what is uninitialised
# in the libraries counts too), each for FUZZ_SECONDS. Stops at the first finding.
set -eu
cd "$(dirname "$0")/../.."
seconds=${FUZZ_SECONDS:-600}
jobs=-j$(nproc)
nodes=(this-machine)
for node in tests/nodes/*/; do [[ $node == */broken-* ]] || nodes+=("$node"); done

make "$jobs" fuzzers BUILD=build/fuzz CC=clang SAN=address,undefined CFLAGS="-O1 -g1 -fsanitize=fuzzer-no-link"
for fuzzer in build/fuzz/fuzzers/fuzz_*; do tests/lib/fuzz.sh "$fuzzer" "$seconds"; done

make "$jobs" all SAN=address,undefined BUILD=build/san-address-undefined
ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 BIN=build/san-address-undefined/bin \
    python3 tests/fuzz/messages.py --for-ever --seconds "$seconds" "${nodes[@]}"

command -v valgrind >/dev/null || { echo "left out: valgrind is not here" && exit 0; }
make "$jobs" all BUILD=build
# In place of MemorySanitizer, which wants every library instrumented. Leaks are the sanitizers' part: a child that reads a topology first ends without freeing it.
BIN=build/bin python3 tests/fuzz/messages.py --for-ever --seconds "$seconds" --patience 300 \
    --under "valgrind -q --error-exitcode=99 --track-origins=yes --leak-check=no" mi250x gh200-quad epyc-2s this-machine
