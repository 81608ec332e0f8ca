#!/bin/bash
# versions.sh VERSION...: the tests of this folder under other versions of Slurm than the system's: Slurm's programs from a root of their own (tests/slurm/root.sh),
# berth's plugin built against that root's slurm/spank.h, and berth's programs as they are. Needs root, and make all build/slurm/app before it. TESTS names tests.
set -u
cd "$(dirname "$0")/../.." || exit
export BUILD=${BUILD:-build}
system=$BUILD/lib/spank_berth.so
status=0

# within ROOT PLUGIN COMMAND...: runs it in the root, with this folder, and with that plugin in the place of the system's
# The inner shell expands.
# shellcheck disable=SC2016
within() {
    unshare --mount --propagation private sh -eu -c 'root=$1 plugin=$2 && shift 2 && mount --bind "$root" "$root"
        for folder in proc sys dev; do mkdir -p "$root/$folder" && mount --rbind "/$folder" "$root/$folder"; done
        for folder in tmp run; do mkdir -p "$root/$folder" && mount -t tmpfs "$folder" "$root/$folder"; done
        mkdir -p "$root$PWD" && mount --bind "$PWD" "$root$PWD"
        mount --bind "$plugin" "$root$PWD/$BUILD/lib/spank_berth.so"
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin BUILD="$BUILD" BIN="$PWD/$BUILD/bin" BERTH_HOOK_RUNS="${BERTH_HOOK_RUNS:-7}" "$@"' \
        - "$@"
}

# options ROOT PLUGIN: what srun tells of the options that plugins bring, and of plugins
options() {
    # shellcheck disable=SC2016
    within "$1" "$2" sh -c 'cd /tmp && echo "optional $1" >plugstack.conf
        printf "%s\n" ClusterName=c SlurmctldHost=localhost NodeName=n1 PlugStackConfig=/tmp/plugstack.conf >slurm.conf
        SLURM_CONF=/tmp/slurm.conf srun --help 2>&1' - "$PWD/$system"
}

for version; do
    built=build/slurm/$version
    root=$built/root
    why=$(tests/slurm/root.sh "$version") || {
        echo "1..0 # SKIP Slurm $version: $why"
        continue
    }
    echo "# $(chroot "$root" /usr/sbin/slurmd -V)"
    mkdir -p "$built/include" && ln -sfn ../root/usr/include/slurm "$built/include/slurm"
    make --no-print-directory -s -j"$(nproc)" BUILD="$built" CFLAGS="-O2 -g -isystem $built/include" WERROR=1 "$built/lib/spank_berth.so" || { status=1 && continue; }
    ok="ok" plugin=$built/lib/spank_berth.so
    if ! options "$root" "$plugin" | grep -q -e --berth= || options "$root" "$system" | grep -q -e --berth= ||
        ! options "$root" "$system" | grep -q Incompatible; then ok="not ok" status=1; fi
    echo "$ok 1 - Slurm $version loads the plugin that was built with its headers, and refuses the system's"
    for test in ${TESTS:-hooks plugin exec berths constrained}; do
        echo "# Slurm $version: $test"
        case $test in
        berths | constrained) SLURM_ROOT=$root PLUGIN=$plugin "tests/slurm/$test.sh" ;;
        *) within "$root" "$plugin" "$PWD/tests/slurm/$test.sh" ;;
        esac
        result=$?
        [ $result = 0 ] || [ $result = 77 ] || status=1
    done
done
exit $status
