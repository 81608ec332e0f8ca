#!/bin/bash
# What monitors run: berth health --nagios, the check of NHC, the plugin of the node-problem-detector.
# BIN is the folder of the programs. NHC=nhc is an NHC to try its check under, too.
exec python3 "$(dirname "$0")/monitors.py" "$@"
