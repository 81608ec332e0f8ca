#!/bin/bash
# As tests/slurm/berths.sh, where Slurm constrains the jobs' cores and devices, by cgroups of version 1 and of version 2. LOG.v1 and LOG.v2 keep the consoles.
set -u
cd "$(dirname "$0")/../.." || exit
status=0
for version in v1 v2; do
    echo "# cgroups of version ${version#v}"
    CONSTRAIN=$version LOG=${LOG:+$LOG.$version} tests/slurm/berths.sh || status=$?
done
exit $status
