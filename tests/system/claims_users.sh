#!/bin/bash
# What ordinary users may claim, and what gives way to administrators. BIN is where the programs are.
exec python3 "$(dirname "$0")/claims_users.py" "$@"
