#!/bin/bash
# Many clients, and hostile ones. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/idle_clients.py" "$@"
