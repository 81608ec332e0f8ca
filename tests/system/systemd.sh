#!/bin/bash
# The units in systemd-analyze, the daemon started by a service manager, and both probes under the
# unit's filter. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin}
make --no-print-directory standins BUILD="${BIN%/bin}" >/dev/null
exec python3 tests/system/systemd.py "$@"
