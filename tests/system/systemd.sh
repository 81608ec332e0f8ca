#!/bin/bash
# The units as systemd-analyze reads them, and the daemon as a service manager starts it. BIN is where the programs are.
# May run beside others.
exec python3 "$(dirname "$0")/systemd.py" "$@"
