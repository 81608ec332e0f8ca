#!/bin/bash
# Drift: whole daemons with a scripted probe, over several runs and restarts. BIN is the folder of
# the programs.
exec python3 "$(dirname "$0")/baseline_drift.py" "$@"
