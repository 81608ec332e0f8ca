#!/bin/bash
# Limits of ordinary users' claims, and claims of administrators above them. BIN is the folder of
# the programs.
exec python3 "$(dirname "$0")/claims_users.py" "$@"
