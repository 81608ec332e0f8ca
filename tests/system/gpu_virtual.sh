#!/bin/bash
# From boot to answers on a virtual node of eight GCDs: berthd, the real GPU probe, a stand-in
# driver. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") exec python3 tests/system/gpu_virtual.py "$@"
