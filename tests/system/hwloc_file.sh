#!/bin/bash
# The topology file for hwloc in tasks: kept by the daemon, given by berth exec and the task prolog; the same
# bindings with it and without, by hwloc's tools, Open MPI and MPICH, in cpusets too. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/hwloc_file.py" "$@"
