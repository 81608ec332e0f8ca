#!/bin/bash
# Many clients, and hostile ones. BIN is where the programs are.
exec python3 "$(dirname "$0")/peers.py" "$@"
