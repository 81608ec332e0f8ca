#!/bin/bash
# A real Prometheus over the metrics of many nodes, beside berth fleet. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/fleet_prometheus.py" "$@"
