#!/bin/bash
# The tarball of make dist, unpacked outside of the clone, builds and passes make check where git fails.
set -eu
cd "$(dirname "$0")/../.."
tarball=$(realpath build/dist/berth-*.tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # tests of other users run what is in it
mkdir "$work/bin"
printf '#!/bin/sh\necho "git $*" >>%s\nexit 127\n' "$work/git" >"$work/bin/git"
chmod 755 "$work/bin/git"
tar -xzf "$tarball" -C "$work"
cd "$work"/berth-*
status=0
PATH=$work/bin:$PATH make --no-print-directory check || status=$?
[ ! -s "$work/git" ] || { echo "git was called:" && sort "$work/git" | uniq -c && status=1; }
exit $status
