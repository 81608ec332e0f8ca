#!/bin/bash
# Facts of the GPU drivers, from the probe to the answers of a daemon. BIN is the folder of the
# programs.
exec python3 "$(dirname "$0")/driver_facts.py" "$@"
