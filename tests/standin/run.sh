#!/bin/bash
# run.sh NODE PROGRAM ARGUMENT...: the program on a virtual node. NODE is a description, or the name of one in nodes/; STANDIN is the folder of the built
# stand-ins, build/standin by default. A program with a sanitizer's shared library has that loaded first, as it wants.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
node=$1 program=$2
shift 2
[ -e "$node" ] || node=$here/nodes/$node.node
node=$(readlink -f "$node")
standin=$(readlink -f "${STANDIN:-$here/../../build/standin}")
api=$(awk -v folder="$(dirname "$node")" 'function read(file, line) { while ((getline line < file) > 0) { split(line, w); if (w[1] == "include") read(w[2] ~ "^/" ? w[2] : folder "/" w[2]); if (w[1] == "api") api = w[2] } }
    BEGIN { read(ARGV[1]); print api }' "$node")
case $api in
cuda) preload=$standin/cuda/libcuda.so.1 ;;
hip) preload=$standin/hip/libamdhip64.so.5 ;;
*)
    echo "run.sh: $node names no api" >&2
    exit 64
    ;;
esac
asan=$(ldd "$program" 2>/dev/null | awk '/lib[a-z]*asan.*\.so/ { print $3 }')
exec env LD_LIBRARY_PATH="$standin/$api${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" LD_PRELOAD="${asan:+$asan }$preload" BERTH_STANDIN="$node" "$program" "$@"
