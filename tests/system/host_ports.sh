#!/bin/bash
# Copies with the host on gpus that share a NUMA node or a PCIe port, where little is measured. BIN
# is the folder of the programs.
exec python3 "$(dirname "$0")/host_ports.py" "$@"
