#!/bin/bash
# Sound nodes are healthy without a finding: recorded ones, and virtual ones measured by the real
# probe. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") exec python3 tests/system/health.py "$@"
