#!/bin/bash
# berth top in a terminal. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/top.py" "$@"
