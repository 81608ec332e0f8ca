#!/bin/bash
# Placement, routing and allocation with known answers: the tables in tests/known, asked of whole
# daemons. Arguments: parts of the names of cases. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/known_cases.py" "$@"
