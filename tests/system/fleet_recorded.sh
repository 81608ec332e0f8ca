#!/bin/bash
# berth fleet over 2,000 records that real daemons wrote. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/fleet_recorded.py" "$@"
