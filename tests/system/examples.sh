#!/bin/bash
# The programs of docs/examples against a daemon over a recorded node, and the library's header in
# C++.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
work=$(mktemp -d)
export BERTH_SOCKET=$work/s
"$BIN/berthd" --node tests/nodes/mi250x --socket "$BERTH_SOCKET" 2>"$work/log" &
daemon=$!
trap 'kill $daemon 2>/dev/null || true; rm -rf "$work"' EXIT
"$BIN/berth" status --wait --timeout 20 >/dev/null

echo "1..8"
# The node has more cores than this machine may have: one task is what fits anywhere.
"$BIN/../examples/bind" 1 1 >"$work/out"
grep -q "^task 0: cpus [0-9]" "$work/out" || { cat "$work/out" "$work/log"; exit 1; }
echo "ok 1 - bind prints a berth and follows changes"
if BERTH_SOCKET=$work/none "$BIN/../examples/bind" 1 2>"$work/err"; then exit 1; fi
grep -qx "bind: no daemon at $work/none" "$work/err"
echo "ok 2 - bind says that there is no daemon"
mapfile -t compilers < <(for compiler in g++ clang++; do command -v $compiler || true; done)
for compiler in "${compilers[@]}"; do
    for standard in 17 20; do
        "$compiler" -std=c++$standard -Wall -Wextra -Wpedantic -Werror -Iclient/lib -fsyntax-only tests/system/every_call.cc
    done
done
if [ ${#compilers[@]} -gt 0 ]; then
    echo "ok 3 - the headers are C++17 and C++20, for ${compilers[*]}"
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
# A program that takes its berth, as the tasks of a launcher.
cpus=$(nproc)
for task in $(seq 0 $((cpus - 1))); do
    MPI_LOCALRANKID=$task MPI_LOCALNRANKS=$cpus PMI_RANK=$task PMI_SIZE=$cpus BERTH_SOCKET=$work/live "$BIN/../examples/take"
done >"$work/out"
told=$(grep -cE "^task [0-9]+ of $cpus: cpus [0-9]+ gpus" "$work/out" || true) different=$(sed 's/.*: //' "$work/out" | sort -u | wc -l)
if [ "$told $different" != "$cpus $cpus" ]; then cat "$work/out" "$work/live.log" && exit 1; fi
MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1 BERTH_SOCKET=$work/none "$BIN/../examples/take" | grep -qx "no berth: no daemon at $work/none"
BERTH_SOCKET=$work/live "$BIN/../examples/take" | grep -qE "^task 0 of 1: cpus [0-9,-]+ gpus"
MPI_LOCALRANKID=0 BERTH_SOCKET=$work/live "$BIN/../examples/take" | grep -q "^no berth: .*MPI_LOCALNRANKS"
echo "ok 5 - take takes the berth of its task, or runs without one"
library=$(realpath "$BIN/../lib/libberth.so.1")
# A sanitizer's runtime has to be there before the library that needs it; what Fortran does not free itself is not ours.
runtime=$(ldd "$library" | awk '/lib[a-z]*san\.so/ && !/ubsan/ { print $3 }')
foreign() { LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 "$@"; }
if ! command -v gfortran >/dev/null; then
    echo "ok 6 # SKIP there is no gfortran (make check installs it)"
else
    module=${BIN%/bin}/berth.f90
    make --no-print-directory "$module" BUILD="${BIN%/bin}" >/dev/null
    gfortran -Wall -Wextra -Werror -Wno-c-binding-type -J "$work" -o "$work/berth_calls" "$module" docs/examples/berth_calls.f90 -L"$(dirname "$library")" -Wl,-rpath,"$(dirname "$library")" -lberth
    foreign "$work/berth_calls" 8 >"$work/out"
    python3 - "$work/out" <<'EOF'
import re, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 10 and lines[8].startswith("allocate on numa"), lines
assert re.fullmatch(r"copy in \d+\.\d{3} ms: hip\w+.*", lines[9]), lines
assert [line.split(":")[0] for line in lines[:8]] == [f"task {n}" for n in range(8)], lines
assert len({line.split("cpus ")[1].split()[0] for line in lines[:8]}) == 8 and len({line.split()[-1] for line in lines[:8]}) == 8, lines
assert all(line.split()[-1].startswith("gpu") for line in lines[:8]), lines
EOF
    if BERTH_SOCKET=$work/none foreign "$work/berth_calls" 1 >"$work/out"; then exit 1; fi
    grep -qx "berth_calls: no daemon at $work/none" "$work/out"
    if foreign "$work/berth_calls" 1000 >"$work/out"; then exit 1; fi
    grep -q "^berth_calls: .*tasks" "$work/out"
    echo "ok 6 - Fortran calls the library"
fi
if [ ! -x "$BIN/../examples/route" ]; then
    echo "ok 7 # SKIP there is no C++ compiler"
else
    "$BIN/../examples/route" gpu0 gpu1 67108864 >"$work/out"
    for line in "hip.*" "[0-9.]+ ms" "100 % by (copy engine|kernel)"; do
        grep -qEx "$line" "$work/out" || { cat "$work/out" && exit 1; }
    done
    if "$BIN/../examples/route" gpu0 gpu99 1 2>"$work/err"; then exit 1; fi
    grep -q "^route: .*gpu99.*(io.berth.Placement.NoSuchPlace)$" "$work/err"
    if BERTH_SOCKET=$work/none "$BIN/../examples/route" gpu0 gpu1 1 2>"$work/err"; then exit 1; fi
    grep -qx "route: no daemon at $work/none (NoDaemon)" "$work/err"
    echo "ok 7 - C++ calls the library, and its errors are exceptions"
fi
# The flags of the guide, with the folder of this build.
# shellcheck disable=SC2016
flags=$(sed -n 's/.*From a clone: `\([^`]*\)`.*/\1/p' docs/PROGRAMMING.md | sed "s|\$PWD/build/lib|build/lib|; s|build/lib|$(dirname "$library")|g")
# shellcheck disable=SC2086
${CC:-cc} docs/examples/bind.c -o "$work/bind" $flags
foreign "$work/bind" 1 1 >"$work/out"
grep -q "^task 0: cpus [0-9]" "$work/out" || { cat "$work/out"; exit 1; }
echo "ok 8 - a program is built from a clone as the guide says"
