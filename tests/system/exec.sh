#!/bin/bash
# berth exec: what a task has once it runs, read from inside it, over whole daemons; daemons that are not there, hang and die. BIN is where the programs are.
exec python3 "$(dirname "$0")/exec.py" "$@"
