#!/bin/bash
# The berth command as a whole: against private daemons over node folders, and against services that
# misbehave. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/command.py" "$@"
