#!/bin/bash
# Where to allocate, asked of whole daemons: on virtual nodes measured by the real GPU probe over a stand-in driver, and on recorded ones. BIN is where the programs are.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") exec python3 tests/system/alloc.py "$@"
