#!/bin/bash
# The planner's known correct answers and its invariants, in whole daemons over test nodes, for
# whole nodes and parts. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/known_answers.py" "$@"
