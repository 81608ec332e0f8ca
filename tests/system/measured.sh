#!/bin/bash
# What of a price was measured: as answers and the command say it, of every test node. BIN is where the programs are.
exec python3 "$(dirname "$0")/measured.py" "$@"
