#!/bin/bash
# berth exec: resources of a running task, read from inside it, over whole daemons; also with
# absent, hanging and dying daemons. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/exec.py" "$@"
