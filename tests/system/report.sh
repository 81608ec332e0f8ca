#!/bin/bash
# The page that berth report writes. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/report.py" "$@"
