#!/bin/bash
# daemon.sh NODE FOLDER [LINE...]: a berthd of a virtual node, measured by the real GPU probe. NODE is one in nodes/. FOLDER becomes its: the socket berth.sock, and
# virtual.node, a description that includes NODE's; a line added there counts from the next measurement on. LINE: lines of the configuration. BIN: folder of programs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BIN=$(readlink -f "${BIN:-$here/../../build/bin}")
name=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
rm -rf "$folder/node" "$folder/probes"
cp -r "$here/../nodes/$name" "$folder/node"
mkdir "$folder/probes"
# no published values: those of the virtual node are measured
sed -z -i -e 's/"origin": *"[a-z]*"/"origin": "standin"/' -e 's/,[[:space:]]*"measurements": *"[^"]*"//' "$folder/node/node.json"
echo "include $here/nodes/$name.node" >"$folder/virtual.node"
printf '#!/bin/bash\nexec %q %q %q "$@"\n' "$here/run.sh" "$folder/virtual.node" "$BIN/berth-probe-gpu" >"$folder/probes/berth-probe-gpu"
chmod +x "$folder/probes/berth-probe-gpu"
printf '%s\n' "probe_dir = $folder/probes" "$@" >"$folder/berth.conf"
exec "$BIN/berthd" --config "$folder/berth.conf" --node "$folder/node" --socket "$folder/berth.sock"
