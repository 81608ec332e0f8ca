#!/usr/bin/env python3
"""Replaces torchrun: starts workers with the variables of PyTorch 1.13's, and again on failure.

Knows the options that tests give; nodes do not meet. tests/system/torchrun.py compares its
variables with those of the real one, under make check-frameworks.
"""
import argparse
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
for name, default in (("nproc_per_node", 1), ("nnodes", 1), ("node_rank", 0), ("max_restarts", 0),
                      ("master_port", 29500)):
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--rdzv_id", default="none")
parser.add_argument("--master_addr", default="127.0.0.1")
parser.add_argument("--no_python", action="store_true")
parser.add_argument("program", nargs=argparse.REMAINDER)
given = parser.parse_args()
tasks, world = given.nproc_per_node, given.nproc_per_node * given.nnodes
if tasks > 1:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
program = given.program if given.no_python else [sys.executable, "-u", *given.program]


def start(task, attempt, folder):
    rank = given.node_rank * tasks + task
    variables = {
        "LOCAL_RANK": task, "RANK": rank, "ROLE_RANK": rank, "GROUP_RANK": given.node_rank,
        "LOCAL_WORLD_SIZE": tasks, "WORLD_SIZE": world, "ROLE_WORLD_SIZE": world,
        "GROUP_WORLD_SIZE": given.nnodes, "ROLE_NAME": "default", "MASTER_ADDR": given.master_addr,
        "MASTER_PORT": given.master_port, "TORCHELASTIC_RESTART_COUNT": attempt,
        "TORCHELASTIC_MAX_RESTARTS": given.max_restarts, "TORCHELASTIC_RUN_ID": given.rdzv_id,
        "TORCHELASTIC_USE_AGENT_STORE": True, "NCCL_ASYNC_ERROR_HANDLING": 1,
        "TORCHELASTIC_ERROR_FILE": f"{folder}/attempt_{attempt}/{task}/error.json"}
    return subprocess.Popen(program, env={**os.environ, **{name: str(value) for name, value in
                                                           variables.items()}})


with tempfile.TemporaryDirectory(prefix="torchelastic_") as folder:
    for attempt in range(given.max_restarts + 1):
        workers = [start(task, attempt, folder) for task in range(tasks)]
        if not any([worker.wait() for worker in workers]):
            sys.exit(0)
sys.exit(1)
