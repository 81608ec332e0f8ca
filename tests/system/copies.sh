#!/bin/bash
# berth_copy on virtual gpus: see copies.py. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build} BIN=${BIN:-build/bin}
make --no-print-directory standins "$BUILD/bench/copy" BUILD="$BUILD" >/dev/null
exec python3 tests/system/copies.py "$@"
