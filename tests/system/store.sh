#!/bin/bash
# Faults of the database under a running daemon. BIN is the folder of the programs. A namespace of
# its own, where the kernel permits one, lets small file systems be mounted.
here=$(dirname "$0")
for way in "unshare -m" "unshare -rm"; do
    if $way true 2>/dev/null; then
        BERTH_MOUNTS=1 exec $way python3 "$here/store.py" "$@"
    fi
done
exec python3 "$here/store.py" "$@"
