#!/bin/bash
# The page that berth report writes. BIN is where the programs are.
exec python3 "$(dirname "$0")/report.py" "$@"
