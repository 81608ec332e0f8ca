#!/bin/bash
# The HIP side of the GPU probe over HIP's names forwarded to CUDA gives what the CUDA side gives:
# on a virtual node here, on a real NVIDIA GPU with STANDIN_CUDA= (nothing).
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
BUILD=${BUILD:-build}
standin=$(readlink -m "$BUILD/standin")
make --no-print-directory standins "$BUILD/standin/forward/libamdhip64.so.7" BUILD="$BUILD" >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
virtual=${STANDIN_CUDA-$standin/cuda}
cells=(--metrics "gpu_gpu_copy_engine,gpu_gpu_kernel,host_gpu_copy_engine,memory_bandwidth" --seed 3)

# probe ARGUMENT...: with the virtual driver loaded first, as tests/standin/run.sh does, and HIP's forwarder where HIP is looked for
probe() {
    local asan
    asan=$(ldd "$BIN/berth-probe-gpu" | awk '/lib[a-z]*asan.*\.so/ { print $3 }')
    if [ -z "$virtual" ]; then
        LD_LIBRARY_PATH=$standin/forward "$BIN/berth-probe-gpu" "$@"
    else
        env LD_LIBRARY_PATH="$standin/forward:$virtual" LD_PRELOAD="${asan:+$asan }$virtual/libcuda.so.1" \
            BERTH_STANDIN="$PWD/tests/standin/nodes/h200x4.node" "$BIN/berth-probe-gpu" "$@"
    fi
}
probe --backend cuda "${cells[@]}" >"$work/cuda"
probe --backend hip "${cells[@]}" >"$work/hip"

python3 - "$work/cuda" "$work/hip" "$virtual" <<'END'
import json, sys

def read(path):
    records = [json.loads(line) for line in open(path)]
    cells = {}
    for r in records:
        if r["record"] == "value" and "value" in r:
            cells[r["metric"], r["from"], r["to"], json.dumps(r.get("axes", {}), sort_keys=True)] = r["value"]
    return records[0], records[-1], cells

def ok(right, name):
    ok.number += 1
    print("ok" if right else "not ok", ok.number, "-", name)
    ok.failed |= not right
ok.number = ok.failed = 0

(run_cuda, end_cuda, cuda), (run_hip, end_hip, hip) = read(sys.argv[1]), read(sys.argv[2])
ok(end_cuda["status"] == end_hip["status"] == "complete", "both runs measure all")
ok(run_hip["conditions"]["library"].startswith("libamdhip64") and run_hip["backend"] == "standin", "what goes through HIP's names is a stand-in's")
shared = [cell for cell in cuda if cell in hip]
ok(len(shared) == len(cuda) > 10, f"HIP has all {len(cuda)} cells of CUDA")
limit = 0.01 if sys.argv[3] else 0.1
apart = [f"{cell}: {cuda[cell]:g}, {hip[cell]:g}" for cell in shared if abs(hip[cell] - cuda[cell]) > limit * abs(cuda[cell])]
for line in apart:
    print("#", line)
ok(not apart, "and gives the same")
print(f"1..{ok.number}")
sys.exit(ok.failed)
END
