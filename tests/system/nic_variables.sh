#!/bin/bash
# Variables that select the nics next to a task: in answers, in a shell, and set by berth exec. BIN
# is the folder of the programs.
exec python3 "$(dirname "$0")/nic_variables.py" "$@"
