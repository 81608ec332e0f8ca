#!/bin/bash
# Errors of the berth command. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/errors.py" "$@"
