#!/bin/bash
# The GPU probe under a daemon: hung cells, gpus in use, wrong bytes, stand-ins. BIN is the folder
# of the programs.
exec python3 "$(dirname "$0")/gpu.py" "$@"
