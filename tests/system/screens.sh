#!/bin/bash
# Every command's first screen. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/screens.py" "$@"
