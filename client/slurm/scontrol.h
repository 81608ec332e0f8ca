/**
 * Reports of Slurm's controller, from scontrol, and jobs with steps on this machine.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Runs scontrol with these words, the first being its name. Gives its output, standard error
 * included, cut to size. False when it cannot be run, fails, or takes more than 20 s. */
bool slurm_scontrol(const char *const words[], char *ret, size_t size);

/* Text behind key, such as " State=", up to the end of the line or, for one word, the next space;
 * cut to size. */
bool slurm_scontrol_value(const char *text, const char *key, bool is_one_word, char *ret,
                          size_t size);

/* True when a slurmstepd of the job ("12") runs on this machine, and when /proc is not readable. */
bool slurm_scontrol_has_steps(const char *job);

/* True when, according to Slurm, the job has nothing left on the node: it has ended, waits, is
 * elsewhere, or is unknown. False when the controller does not answer. */
bool slurm_scontrol_has_left(const char *job, const char *node);
