#!/bin/bash
# The GPU probe is built with any set of compilers, and starts without the vendors' libraries.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
ok() { number=$((number + 1)) && echo "ok $number - $1"; }

NVCC='' HIPCC='' probes/gpu/driver/images.sh "$work/none"
[ "$(cat "$work/none/included.txt")" = "kernels built in for CUDA: none (there was no nvcc); for HIP: none (there was no hipcc)" ]
[ ! -s "$work/none/cuda.image" ] && [ -e "$work/none/cuda.image" ] && [ ! -s "$work/none/hip.image" ] && [ -e "$work/none/hip.image" ]
ok "without compilers nothing is built in, and that is said"

NVCC=/bin/false HIPCC=/bin/false probes/gpu/driver/images.sh "$work/broken"
[ "$(cat "$work/broken/included.txt")" = "kernels built in for CUDA: none (/bin/false does not work here); for HIP: none (/bin/false does not work here)" ]
ok "a compiler that compiles nothing is the same as none"

# Compilers that know one device each, and write the file's name into their output.
cat >"$work/nvcc" <<'END'
#!/bin/bash
[ "$1" != --list-gpu-code ] || { echo sm_75 sm_90 sm_1000; exit; }
for last; do [ "$before" != -o ] || out=$last; before=$last; done
echo "$@" >"$out"
END
cat >"$work/hipcc" <<'END'
#!/bin/bash
for last; do [ "$before" != -o ] || out=$last; [ "${last%gfx90a}" != "$last" ] || [ "${last#--offload-arch=}" = "$last" ] || exit 1; before=$last; done
echo "$HIP_PLATFORM $*" >"$out"
END
chmod +x "$work/nvcc" "$work/hipcc"
NVCC=$work/nvcc HIPCC=$work/hipcc probes/gpu/driver/images.sh "$work/both"
[ "$(cat "$work/both/included.txt")" = "kernels built in for CUDA: sm_90 and later; for HIP: gfx90a" ]
grep -q -- '-gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90' "$work/both/cuda.image"
grep -q '^amd .*--offload-arch=gfx90a .*gpu_kernels.cu$' "$work/both/hip.image"
ok "the devices that both the compilers and we know are built in, with intermediate code for later ones"

# shellcheck disable=SC2016 # the script's own variables
sed -i 's/^echo "$@" >.*/[[ "$*" != *gpu_kernels.cu ]] \&\& echo "$@" >"$out"/' "$work/nvcc"
if NVCC=$work/nvcc HIPCC='' probes/gpu/driver/images.sh "$work/error" 2>/dev/null; then exit 1; fi
[ ! -e "$work/error/included.txt" ]
ok "kernels that a working compiler refuses are an error"

if readelf -d "$BIN/berth-probe-gpu" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libpthread|libdl|libnuma|ld-linux.*|libasan|libubsan|libtsan|libgcc_s)\.so'; then
    exit 1
fi
ok "the probe is linked to none of the vendors' libraries"

line=$(cat build/gpu/included.txt)
"$BIN/berth-probe-gpu" --version | grep -qF "$line"
ok "--version says what is built in"

# On virtual nodes whose drivers refuse the first image, or every one.
make --no-print-directory standins BUILD="${BUILD:-build}" >/dev/null
for node in h200x4:cuModuleLoadData:libnvrtc mi250x:hipModuleLoadData:libhiprtc; do
    IFS=: read -r name call compiler <<<"$node"
    for which in 1 0; do
        printf 'include %s/tests/standin/nodes/%s.node\nfault %s %s * unsupported\n' "$PWD" "$name" "$call" "$which" >"$work/refuses.node"
        STANDIN=${BUILD:-build}/standin tests/standin/run.sh "$work/refuses.node" "$BIN/berth-probe-gpu" --metrics host_gpu_copy_engine >"$work/out"
        grep -q '"status":"complete"' "$work/out"
        if [ "$which" = 1 ]; then
            head -n 1 "$work/out" | grep -q "\"kernels_compiled_by\":\"$compiler"
        else
            head -n 1 "$work/out" | grep -E '"kernels":"[0-9a-f:.]*: (no kernels for it are built in; )?the driver does not load the kernels' | grep -vq kernels_compiled_by
        fi
    done
    ok "$compiler compiles what the driver of $name has no built-in kernels for; copies are measured without kernels, too"
done
echo "1..$number"
