#!/bin/bash
# What gives way to claims: whole daemons over a real socket. BIN is where the programs are.
exec python3 "$(dirname "$0")/claims_around.py" "$@"
