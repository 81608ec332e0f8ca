#!/bin/bash
# What answers say of what decided, and of what is proven, asked of whole daemons over test nodes. BIN is where the programs are.
exec python3 "$(dirname "$0")/said.py" "$@"
