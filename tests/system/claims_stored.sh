#!/bin/bash
# Claims in the store: whole daemons over a real socket with a real database. BIN is where the programs are.
exec python3 "$(dirname "$0")/claims_stored.py" "$@"
