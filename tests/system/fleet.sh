#!/bin/bash
# berth fleet over drawn nodes. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/fleet.py" "$@"
