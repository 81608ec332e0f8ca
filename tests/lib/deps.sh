#!/bin/bash
# deps.sh build|python|test|browser|lake|frameworks|numa|cluster|roots|deb|rpm|container|monitors|package|deploy|lint ...: installs missing packages of groups of
# targets. Prints its commands. Does nothing, and needs no network, when no package is missing.
set -eu

packages() {
    case $1 in
    build)
        echo gcc libc6-dev make pkg-config libhwloc-dev libnuma-dev libuv1-dev libsqlite3-dev \
            libjansson-dev libncurses-dev libcmocka-dev
        ;;
    python) echo python3 python3-setuptools python3-wheel ;;
    test)
        echo clang libclang-rt-14-dev g++ binutils procps util-linux python3 sqlite3 strace \
            systemd man-db groff-base mandoc zsh graphviz hwloc-nox libxml2-utils prometheus prometheus-node-exporter openmpi-bin \
            libopenmpi-dev mpich libmpich-dev ucx-utils gfortran libslurm-dev libglpk-dev librsvg2-bin \
            python3-setuptools python3-wheel python3-venv python3-pip-whl mypy python3-pytest \
            python3-numpy python3-mpi4py
        ;;
    browser) echo chromium python3 ;;
    lake) echo nodejs npm python3 ;;
    frameworks) echo python3-torch python3-matplotlib ;;
    numa) echo qemu-system-x86 seabios busybox-static cpio ;;
    cluster) echo munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins util-linux ;;
    roots) echo mmdebstrap distro-info-data gpg ;; # private roots of other suites
    deb)
        echo build-essential dpkg-dev debhelper lintian libslurm-dev dh-python python3 \
            python3-setuptools python3-wheel
        ;;
    monitors) echo nagios4-core icinga2-bin icinga2-common nagios-nrpe-server nagios-nrpe-plugin ;;
    rpm) echo rpm rpm2cpio cpio rpmlint libslurm-dev python3 python3-setuptools python3-wheel ;;
    container) echo buildah podman crun mmdebstrap ;;
    package) echo mmdebstrap qemu-system-x86 seabios busybox-static cpio e2fsprogs ;;
    deploy) echo ansible-lint dpkg-dev golang-go ;;
    lint) echo clang clang-format-14 clang-tidy cppcheck shellcheck systemd libslurm-dev libmpich-dev ;;
    *)
        echo "deps.sh: no group $1; groups are build, python, test, browser, lake, frameworks, numa, cluster, roots, deb, rpm, container, monitors, package, deploy, lint" >&2
        exit 64
        ;;
    esac
}

if ! command -v dpkg-query >/dev/null; then
    echo "deps: this is no Debian system, so nothing is installed; Debian's names of the packages:"
    for group; do echo "  $group: $(packages "$group")"; done
    exit 0
fi

missing=()
for group; do
    for package in $(packages "$group"); do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || [[ " ${missing[*]-} " == *" $package "* ]] ||
            missing+=("$package")
    done
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "deps: as root, run: apt-get install -y --no-install-recommends ${missing[*]}" >&2
        exit 77
    }
    as_root=(sudo)
fi

run() {
    echo "+ $*"
    "$@"
}
export DEBIAN_FRONTEND=noninteractive
run "${as_root[@]}" apt-get -q -q update ||
    echo "deps: the package lists could not be refreshed; trying with the present ones"
run "${as_root[@]}" apt-get -q -q install -y --no-install-recommends "${missing[@]}" >/dev/null
