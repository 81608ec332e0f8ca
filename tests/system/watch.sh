#!/bin/bash
# berth watch: what changed, from which to which value. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/watch.py" "$@"
