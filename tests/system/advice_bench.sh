#!/bin/bash
# The regret bench in small: its executor, its rivals and traffic, and 20 requests to a virtual node
# of four GPUs.
set -eu
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build} BIN=${BIN:-build/bin}
make --no-print-directory standins "$BUILD/bench/advice_run" BUILD="$BUILD" >/dev/null
exec python3 tests/system/advice_bench.py "$@"
