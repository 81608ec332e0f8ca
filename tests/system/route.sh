#!/bin/bash
# Route over a real socket: the right answers that are known of virtual nodes, measured by the real GPU probe on a stand-in driver, and of recorded ones. BIN is where the programs are.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") exec python3 tests/system/route.py "$@"
