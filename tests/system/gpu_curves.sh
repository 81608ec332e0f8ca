#!/bin/bash
# tests/bench/gpu_curves on a virtual node: its curves predict other sizes, and a wrong one is
# detected.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins "$BUILD/bench/gpu_curves" BUILD="$BUILD" >/dev/null
exec python3 tests/system/gpu_curves.py "$@"
