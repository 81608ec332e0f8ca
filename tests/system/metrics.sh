#!/bin/bash
# Output of berth export prometheus, with its rules, dashboard and timer, read by promtool and
# systemd-analyze. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/metrics.py" "$@"
