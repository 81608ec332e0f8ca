#!/bin/bash
# Every bottleneck is found by its name as the schema documents, on every test node. BIN is the
# folder of the programs.
exec python3 "$(dirname "$0")/bottlenecks.py" "$@"
