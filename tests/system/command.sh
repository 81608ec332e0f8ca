#!/bin/bash
# The berth command as a whole: against private daemons over node folders, and against services that misbehave. BIN is
# where the programs are.
exec python3 "$(dirname "$0")/command.py" "$@"
