#!/bin/bash
# Background measuring. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/background.py" "$@"
