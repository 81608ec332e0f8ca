#!/bin/bash
# Idle hours in seconds. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/fast_clock.py" "$@"
