#!/bin/bash
# Tuned launch shapes on virtual nodes, and with a scripted probe. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") exec python3 tests/system/tuning.py "$@"
