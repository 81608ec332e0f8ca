#!/bin/bash
# Reports of observed times. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/reports.py" "$@"
