#!/bin/bash
# Mapped answers: files, seals, generations, the end of the daemon. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/map.py" "$@"
