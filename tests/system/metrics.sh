#!/bin/bash
# What berth export prometheus writes, and the rules, dashboard and timer beside it, read by promtool and systemd-analyze. BIN is where the programs are.
exec python3 "$(dirname "$0")/metrics.py" "$@"
