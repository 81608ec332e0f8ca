#!/bin/bash
# Whole daemons over a real socket with a real database. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/daemon.py" "$@"
