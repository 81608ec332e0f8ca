#!/bin/bash
# Collectives, kinds of memory, copy calls and noise on virtual nodes. BIN is the folder of the
# programs, STANDIN the stand-ins.
exec python3 "$(dirname "$0")/gpu_memory_kinds.py" "$@"
