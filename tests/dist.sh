#!/bin/bash
# The tarball of make dist: the same bytes from other folders, all files of the project, a bill of materials that is whole.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
ok() { number=$((number + 1)) && echo "ok $number - $1"; }
not_ok() { echo "not ok $((number + 1)) - $1" && exit 1; }
dist() { make --no-print-directory -C "$1" dist >"$work/log" 2>&1 || { cat "$work/log" && not_ok "make dist in $1"; }; }
name=berth-$(sed -n 's/^VERSION *:= *//p' Makefile)

dist .
cp build/dist/* "$work"
(cd "$work" && sha256sum --quiet -c SHA256SUMS) || not_ok "the sums are those of the files"
diff <(tar -tzf "$work/$name.tar.gz" | sed "s|^$name/||") <(tests/lib/ours.sh | LC_ALL=C sort) || not_ok "the tarball has all files of the project"
ok "the tarball has all files of the project, and no others"
tar -xzf "$work/$name.tar.gz" -C "$work"
(umask 077 && dist "$work/$name")
cmp "$work/$name.tar.gz" "$work/$name/build/dist/$name.tar.gz" || not_ok "the unpacked tarball makes another one"
ok "an unpacked tarball makes the same bytes again"
if [ -e .git ] && [ -z "$(git status --porcelain)" ]; then
    (umask 077 && git clone -q . "$work/clone")
    dist "$work/clone"
    cmp "$work/$name.tar.gz" "$work/clone/build/dist/$name.tar.gz" || not_ok "another clone makes another tarball"
    ok "so does another clone"
else
    ok "so does another clone # SKIP this is no clone, or it has changes that are not committed"
fi
# shellcheck disable=SC2046 # the names are words
python3 tests/lib/spdx.py "$work/$name.spdx.json" "$work/$name.tar.gz" $(find "$BUILD/bin" "$BUILD/lib" -type f -executable)
ok "the bill of materials has the fields of SPDX 2.3, the tarball's sum, and each library that a built program loads"
for recipe in etc/rpm/berth.spec etc/debian/changelog etc/easybuild/*.eb etc/spack/spack_repo/berth/packages/berth/package.py etc/container/Containerfile etc/container/berth.def; do
    grep -q "\b${name#berth-}\b" "$recipe" || not_ok "$recipe names version ${name#berth-}"
done
python3 -c 'import ast, sys; [ast.parse(open(file).read()) for file in sys.argv[1:]]' etc/easybuild/*.eb etc/spack/spack_repo/berth/packages/berth/package.py ||
    not_ok "the recipes of EasyBuild and Spack are Python"
ok "packages, recipes and container files name this version"
echo "1..$number"
