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

echo "1..3"
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
