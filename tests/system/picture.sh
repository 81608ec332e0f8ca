#!/bin/bash
# Pictures of nodes and placements: berth topo -o, berth bind -o. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/picture.py" "$@"
