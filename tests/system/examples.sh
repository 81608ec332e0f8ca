#!/bin/bash
# The programs of docs/examples against a daemon over a recorded node, and the library's header in C++.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
work=$(mktemp -d)
export BERTH_SOCKET=$work/s
"$BIN/berthd" --node tests/nodes/mi250x --socket "$BERTH_SOCKET" 2>"$work/log" &
daemon=$!
trap 'kill $daemon 2>/dev/null || true; rm -rf "$work"' EXIT
"$BIN/berth" status --wait --timeout 20 >/dev/null

echo "1..4"
# The node has more cores than this machine may have: one task is what fits anywhere.
"$BIN/../examples/bind" 1 1 >"$work/out"
grep -q "^task 0: cpus [0-9]" "$work/out" || { cat "$work/out" "$work/log"; exit 1; }
echo "ok 1 - bind prints a berth and follows changes"
if BERTH_SOCKET=$work/none "$BIN/../examples/bind" 1 2>"$work/err"; then exit 1; fi
grep -qx "bind: no daemon at $work/none" "$work/err"
echo "ok 2 - bind says that there is no daemon"
if command -v c++ >/dev/null; then
    printf '#include <berth.h>\nint main() { berth_bind_request request; berth_bind_request_init(&request); return berth_fd(nullptr) != 0; }\n' |
        c++ -x c++ -Wall -Wextra -Wpedantic -Werror -Iclient -fsyntax-only -
    echo "ok 3 - the header is C++ too"
else
    echo "ok 3 # SKIP there is no C++ compiler"
fi
# The recorded node's memories are not this machine's: this machine's own daemon advises, and the kernel is asked where the pages are.
"$BIN/berthd" --no-probe --socket "$work/live" --state-dir "$work/state" 2>"$work/live.log" &
live=$!
trap 'kill $daemon $live 2>/dev/null || true; rm -rf "$work"' EXIT
"$BIN/berth" --socket "$work/live" status --wait --timeout 20 >/dev/null
if BERTH_SOCKET=$work/live "$BIN/../examples/alloc" 16 >"$work/out" 2>&1; then
    grep -Eqx "advised numa[0-9]+ \(numa_alloc_onnode\(16777216, [0-9]+\)\), ([0-9]+) of \1 pages there" "$work/out" || { cat "$work/out"; exit 1; }
    echo "ok 4 - alloc allocates where it is told to, and the pages are there"
else
    grep -q "on a machine that has NUMA" "$work/out" || { cat "$work/out" "$work/live.log"; exit 1; }
    echo "ok 4 # SKIP this machine has no NUMA"
fi
