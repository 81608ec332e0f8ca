#!/bin/bash
# Hostile users beside a good peer: waiting times, the log, memory. BIN is the folder of the
# programs; root is needed to be several users.
exec python3 "$(dirname "$0")/hostile_users.py" "$@"
