#!/bin/bash
# Errors that the kernel logged: from lines of its log to findings of a daemon. BIN is the folder of
# the programs.
exec python3 "$(dirname "$0")/kernel_events.py" "$@"
