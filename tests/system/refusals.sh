#!/bin/bash
# Refusals of Bind, Allocate and Route on every test node, by command and socket: a named error with
# the available resources. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/refusals.py" "$@"
