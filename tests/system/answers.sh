#!/bin/bash
# The planner's known right answers and its properties, asked of whole daemons over test nodes, of all of a node and of parts. BIN is where the programs are.
exec python3 "$(dirname "$0")/answers.py" "$@"
