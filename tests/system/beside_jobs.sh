#!/bin/bash
# Background measuring beside a job. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/beside_jobs.py" "$@"
