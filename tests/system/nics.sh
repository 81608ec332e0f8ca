#!/bin/bash
# The variables by which a task's libraries use the nics next to it: in answers, in a shell, and taken by berth exec. BIN is where the programs are.
exec python3 "$(dirname "$0")/nics.py" "$@"
