#!/bin/bash
# Install into an empty root, use what is there, uninstall: nothing is left.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
work=$(mktemp -d)
root=$work/root prefix=$work/prefix
trap 'rm -rf "$work"' EXIT
number=0
ok() { number=$((number + 1)) && echo "ok $number - $1"; }
make_quiet() { make --no-print-directory BUILD="$BUILD" "$@" >"$work/make.log" 2>&1 || { cat "$work/make.log" && exit 1; }; }

make_quiet install DESTDIR="$root" PREFIX=/usr
for file in bin/berth bin/berthd libexec/berth/berth-probe-cpu libexec/berth/berth-probe-gpu libexec/berth/berth-probe-events libexec/berth/slurm/{prolog,epilog,taskprolog,health} libexec/berth/node-problem-detector/berth-health share/berth/node-problem-detector/berth.json share/berth/nhc/berth.nhc lib/libberth.so lib/libberth.so.1 lib/libberth.a \
    lib/pkgconfig/libberth.pc include/berth.h include/berth.hpp include/berth.f90 share/berth/io.berth.Placement.varlink share/berth/map_layout.h lib/systemd/system/berthd.service \
    lib/systemd/system/berthd.socket lib/systemd/system/berth-export.service lib/systemd/system/berth-export.timer lib/systemd/system/berth-events.service lib/systemd/system/berth-events.timer share/berth/prometheus/berth.rules.yml share/berth/grafana/berth.json lib/sysusers.d/berthd.conf ../etc/berth/berth.conf share/man/man1/berth.1 share/man/man3/libberth.3 share/man/man5/berth.conf.5 \
    share/man/man8/berthd.8 share/bash-completion/completions/berth share/zsh/site-functions/_berth; do
    [ -e "$root/usr/$file" ] || { echo "not ok - $file is not installed" && exit 1; }
done
for hook in "$root"/usr/libexec/berth/{slurm,node-problem-detector}/*; do
    [ -x "$hook" ] || { echo "not ok - ${hook##*/} cannot be executed" && exit 1; }
done
if [ -e "$BUILD/lib/spank_berth.so" ]; then
    nm -D --defined-only "$root/usr/lib/slurm/spank_berth.so" | grep -q ' slurm_spank_task_init$'
fi
ok "everything is where it belongs"
grep -q '^ExecStart=/usr/bin/berthd$' "$root/usr/lib/systemd/system/berthd.service"
if grep -r '@[A-Z]*@' "$root/usr/lib/systemd" "$root/usr/lib/pkgconfig"; then exit 1; fi
ok "units and pkg-config file name the installed folders"
[ "$("$root/usr/bin/berth" --version)" = "berth $(sed -n 's/^VERSION *:= *//p' Makefile)" ]
"$root/usr/bin/berthd" --config "$root/etc/berth/berth.conf" --check-config
ok "installed programs start, and the installed configuration is right"
echo "# changed" >>"$root/etc/berth/berth.conf"
make_quiet install DESTDIR="$root" PREFIX=/usr
grep -q '^# changed' "$root/etc/berth/berth.conf"
ok "a changed configuration survives a second install"
cp etc/berth.conf "$root/etc/berth/berth.conf"
make_quiet uninstall DESTDIR="$root" PREFIX=/usr
[ -z "$(find "$root" ! -type d)" ] || { find "$root" ! -type d && exit 1; }
for folder in usr/libexec/berth usr/share/berth etc/berth; do [ ! -e "$root/$folder" ]; done
ok "uninstall leaves nothing"

make_quiet install DESTDIR= PREFIX="$prefix" SYSCONFDIR="$prefix/etc"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
# shellcheck disable=SC2046 # the flags are words
${CC:-cc} -std=c17 -Wall -Wextra -Werror -o "$work/example" docs/examples/bind.c $(pkg-config --cflags --libs libberth)
ldd "$work/example" | grep -q "$prefix/lib/libberth.so.1"
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046 # the flags are words
    c++ -std=c++17 -Wall -Wextra -Werror -o "$work/route" docs/examples/route.cc $(pkg-config --cflags --libs libberth)
fi
if command -v gfortran >/dev/null; then
    # shellcheck disable=SC2046 # the flags are words
    gfortran -J "$work" -o "$work/berth_calls" "$(pkg-config --variable=includedir libberth)/berth.f90" docs/examples/berth_calls.f90 $(pkg-config --libs libberth)
fi
ok "a program is built through pkg-config and finds the shared library"
"$prefix/bin/berthd" --socket "$work/berth.sock" --node tests/nodes/mi250x 2>"$work/berthd.log" &
daemon=$!
trap 'kill $daemon 2>/dev/null || true; rm -rf "$work"' EXIT
"$prefix/bin/berth" --socket "$work/berth.sock" status --wait >/dev/null
BERTH_SOCKET=$work/berth.sock "$work/example" 1
[ ! -e "$work/berth_calls" ] || BERTH_SOCKET=$work/berth.sock "$work/berth_calls" 1 | grep -q "^copy in "
[ ! -e "$work/route" ] || BERTH_SOCKET=$work/berth.sock "$work/route" gpu0 gpu1 1048576
ok "it asks an installed daemon, and is answered"
echo "1..$number"
