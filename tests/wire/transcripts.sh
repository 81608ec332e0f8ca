#!/bin/bash
# Plays every transcript against a daemon of its own that serves the stand-in node beside this file.
# BIN is the folder of the programs. With a socket as argument it plays against whoever listens
# there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 0 ] || exec python3 "$here/run.py" "$1" "$here"/*.txt
BIN=${BIN:-$here/../../build/bin}
work=$(mktemp -d)
"$BIN/berthd" --node "$here/node" --socket "$work/s" 2>"$work/log" &
daemon=$!
trap 'kill $daemon 2>/dev/null || true; wait $daemon 2>/dev/null || true; rm -rf "$work"' EXIT
python3 "$here/run.py" "$work/s" "$here"/*.txt || { sed 's/^/# berthd: /' "$work/log"; exit 1; }
