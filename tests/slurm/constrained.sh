#!/bin/bash
# As tests/slurm/berths.sh, where Slurm constrains the jobs' cores and devices, by cgroups of
# version 1 and of version 2; by those of version 2 with gpus of NVIDIA, too. LOG.v1, LOG.v2 and
# LOG.nvidia keep the consoles. Words are those of the three that are to run: v1, v2, nvidia.
set -u
cd "$(dirname "$0")/../.." || exit
status=0
[ $# -gt 0 ] || set -- v1 v2 nvidia
for which; do
    version=$which node=mi250x
    [ "$which" != nvidia ] || version=v2 node=h200x4
    echo "# cgroups of version ${version#v}, node $node"
    CONSTRAIN=$version NODE=$node LOG=${LOG:+$LOG.$which} tests/slurm/berths.sh || status=$?
done
exit $status
