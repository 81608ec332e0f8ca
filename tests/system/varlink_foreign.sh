#!/bin/bash
# Foreign Varlink clients, Debian 13's varlinkctl and python3-varlink, call a daemon. They are
# unpacked with their own libc in a folder of ours (12 MB, downloaded once). With a socket as
# argument it is that daemon, else a private one over the stand-in node of tests/wire. BIN is the
# folder of the programs; BERTH_CACHE is kept between runs. Prints TAP; 77 when the packages cannot
# be downloaded.
set -u
cd "$(dirname "$0")/../.." || exit 70
BIN=${BIN:-build/bin}
CACHE=${BERTH_CACHE:-build/cache}/trixie
PACKAGES=(systemd libsystemd-shared libc6 libcrypt1 libcap2 libmount1 libblkid1 libselinux1 libpcre2-8-0 libssl3t64 libzstd1
    zlib1g libseccomp2 libgcc-s1 libacl1 libaudit1 libcap-ng0 libpam0g python3-varlink)

left_out() {
    echo "left out: $*"
    exit 77
}

# An apt of its own that believes in trixie and knows of no installed package; the system's stays as it is.
download() {
    local root=$CACHE/apt architecture
    command -v apt-get >/dev/null || left_out "this system has no apt-get to download Debian 13's clients with"
    architecture=$(dpkg --print-architecture)
    mkdir -p "$root"/{lists/partial,archives/partial,etc,debs} && : >"$root/status" || return 1
    root=$(realpath "$root")
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main" >"$root/sources.list"
    local options=(-q -q -o Dir::State="$root" -o Dir::State::status="$root/status" -o Dir::Cache="$root" -o Dir::Etc="$root/etc"
        -o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=- -o APT::Architecture="$architecture"
        -o APT::Sandbox::User= -o APT::Update::Error-Mode=any -o Acquire::Retries=2 -o Acquire::http::Timeout=20)
    timeout 120 apt-get "${options[@]}" update && (cd "$root/debs" && timeout 120 apt-get "${options[@]}" download "${PACKAGES[@]}")
}

unpack() {
    local deb
    rm -rf "$CACHE/x.part" && mkdir -p "$CACHE/x.part" || return 1
    for deb in "$CACHE"/apt/debs/*.deb; do dpkg-deb -x "$deb" "$CACHE/x.part" || return 1; done
    rm -rf "$CACHE/x" "$CACHE/apt" && mv "$CACHE/x.part" "$CACHE/x"
}

if [ ! -d "$CACHE/x" ]; then
    log=$(download 2>&1) || left_out "Debian 13's packages cannot be downloaded: $(tail -n 1 <<<"$log")"
    unpack || exit 1
fi
ROOT=$(realpath "$CACHE/x")
LIBRARIES=$(dirname "$(find "$ROOT" -name 'libc.so.6' | head -n 1)")
LOADER=$(find "$LIBRARIES" -name 'ld-linux*.so.*' | head -n 1)
varlinkctl() { "$LOADER" --library-path "$LIBRARIES:$LIBRARIES/systemd" "$ROOT/usr/bin/varlinkctl" "$@"; }

work=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || { kill $daemon; wait $daemon; } 2>/dev/null; rm -rf "$work"' EXIT
socket=${1:-}
if [ -z "$socket" ]; then
    socket=$work/s
    "$BIN/berthd" --node tests/wire/node --socket "$socket" 2>"$work/log" &
    daemon=$!
    python3 - "$socket" <<'END' || { cat "$work/log"; exit 1; }
import sys, time
sys.path.insert(0, "tests/lib")
import varlink
for attempt in range(500):
    try:
        sys.exit(varlink.call(sys.argv[1], "io.berth.Fabric.GetStatus")[0])
    except OSError:
        time.sleep(0.01)
sys.exit("berthd does not answer")
END
fi
address=unix:$socket

number=0 failed=0
# check NAME COMMAND...: passes when the command does; what the one before printed is in $work/before
check() {
    local name=$1
    shift
    [ ! -e "$work/out" ] || mv "$work/out" "$work/before"
    number=$((number + 1))
    if "$@" >"$work/out" 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/#   /' "$work/out" | head -n 20
        failed=1
    fi
}
# has COUNT PATTERN: the last check printed that many lines like this
has() { [ "$(grep -cE -- "$2" "$work/before")" = "$1" ] || { cat "$work/before" && return 1; }; }
# refused ERROR METHOD PARAMETERS: varlinkctl fails, and names the error
refused() {
    local said
    if said=$(varlinkctl call "$address" "$2" "$3" 2>&1); then
        echo "it was answered: $said"
        return 1
    fi
    grep -qF -- "$1" <<<"$said" || { echo "$said" && return 1; }
}
# matches EXPRESSION: the JSON on stdin, called reply, makes the Python expression true
matches() { python3 -c 'import json, sys
text = sys.stdin.read().replace("\x1e", "")
reply = json.loads(text)
sys.exit(0 if eval(sys.argv[1]) else "not %s: %s" % (sys.argv[1], text))' "$1"; }
call() { varlinkctl --json=short call "$address" "$1" "$2"; }
call_matches() { call "$1" "$2" >"$work/reply" && matches "$3" <"$work/reply"; }
# the text that the daemon hands out is the file, as varlinkctl prints it
introspects() {
    varlinkctl introspect "$address" "$1" >"$work/introspected" || return 1
    local declared
    declared=$(grep -cE '^(method|type|error) ' "schema/$1.varlink")
    [ "$(grep -cE '^(method|type|error) ' "$work/introspected")" = "$declared" ] || { cat "$work/introspected"; return 1; }
}
first_of_stream() { # of a stream that does not end: what comes within two seconds
    timeout 2 "$LOADER" --library-path "$LIBRARIES:$LIBRARIES/systemd" "$ROOT/usr/bin/varlinkctl" --more --json=short call "$address" "$1" "$2" >"$work/stream"
    head -n 1 "$work/stream" | matches "$3"
}

check "varlinkctl: info" varlinkctl info "$address"
check "varlinkctl: info names the interfaces" has 3 'io\.berth\.'
check "varlinkctl: list-interfaces" varlinkctl list-interfaces "$address"
check "varlinkctl: list-interfaces lists all four" has 4 '^(io\.berth|org\.varlink)\.'
for file in schema/*.varlink; do
    name=$(basename "$file" .varlink)
    check "varlinkctl: validate-idl of $name" varlinkctl validate-idl "$file"
    check "varlinkctl: introspect $name" introspects "$name"
done
check "varlinkctl: a call" call_matches io.berth.Fabric.GetStatus '{}' 'reply["state"] in ("starting", "probing", "ready") and reply["clients"] >= 1'
check "varlinkctl: a long answer" call_matches io.berth.Fabric.GetNode '{}' 'any(p["kind"] == "core" for p in reply["places"])'
check "varlinkctl: parameters" call_matches io.berth.Fabric.GetMatrix '{"metric":"cpu_pingpong","from":["core0"]}' 'reply["metric"] == "cpu_pingpong"'
check "varlinkctl: --more gives the first of a stream" first_of_stream io.berth.Fabric.Watch '{}' '"snapshot" in reply'
check "varlinkctl: --more reads a stream to its end" varlinkctl --more --json=short call "$address" io.berth.Fabric.Record '{}'
check "varlinkctl: the stream had every file" has 1 '"file":"topology\.xml"'
check "varlinkctl: an error of ours" refused NoSuchMetric io.berth.Fabric.GetMatrix '{"metric":"no_such"}'
check "varlinkctl: a wrong parameter" refused InvalidParameter io.berth.Fabric.GetMatrix '{"metric":7}'
check "varlinkctl: an unknown method" refused MethodNotFound io.berth.Fabric.Nope '{}'
check "varlinkctl: an unknown interface" refused InterfaceNotFound io.nobody.Thing.Do '{}'
check "varlinkctl: an answer that is text" call_matches io.berth.Fabric.Export '{"format":"dot"}' 'reply["text"].endswith("}\n")'
check "python3-varlink" env PYTHONPATH="$ROOT/usr/lib/python3/dist-packages" python3 tests/system/varlink_foreign.py "$address"
echo "1..$number"
exit $failed
