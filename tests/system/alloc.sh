#!/bin/bash
# Allocate in whole daemons, over virtual nodes measured by the real GPU probe on a stand-in driver,
# and over recorded ones. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") exec python3 tests/system/alloc.py "$@"
