#!/bin/bash
# MPI: the probe's ranks under real launchers of MPICH and Open MPI. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/mpi.py" "$@"
