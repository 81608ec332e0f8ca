/**
 * Folder client/slurm: Slurm: the job's step, cores and GPUs as Slurm states them; prolog and
 *   health check; the SPANK plugin.
 *
 * Main types: struct slurm_visible_job, struct slurm_gres.
 * Uses: lib lib/task
 * Public headers: call.h hooks.h job.h slurm.h visible_gpus.h
 * Shown by: tests/unit/slurm, tests/slurm
 */
#pragma once
