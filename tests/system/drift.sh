#!/bin/bash
# Drift: whole daemons whose probe prints what the test says, over several runs and restarts. BIN is where the programs are.
exec python3 "$(dirname "$0")/drift.py" "$@"
