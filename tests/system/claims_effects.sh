#!/bin/bash
# Claims stop probes and measuring, and plans avoid them: whole daemons over a real socket. BIN is
# the folder of the programs.
exec python3 "$(dirname "$0")/claims_effects.py" "$@"
