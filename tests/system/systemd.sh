#!/bin/bash
# The units as systemd-analyze reads them, the daemon as a service manager starts it, and both probes under the unit's filter. BIN is where the programs are.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin}
make --no-print-directory standins BUILD="${BIN%/bin}" >/dev/null
exec python3 tests/system/systemd.py "$@"
