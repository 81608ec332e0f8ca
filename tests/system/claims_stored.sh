#!/bin/bash
# Claims in the store: whole daemons over a real socket with a real database. BIN is the folder of
# the programs.
exec python3 "$(dirname "$0")/claims_stored.py" "$@"
