/**
 * What Slurm's controller says, by scontrol, and which jobs have steps on this machine.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Runs scontrol with these words, the first being its name, and gives what it prints, on standard
 * error too, cut to size. False when it cannot be run, fails, or takes more than 20 s. */
bool slurm_scontrol(const char *const words[], char *ret, size_t size);

/* What stands behind key, such as " State=", up to the end of the line, or, for one word, the next
 * space; cut to size. */
bool slurm_scontrol_value(const char *text, const char *key, bool is_one_word, char *ret,
                          size_t size);

/* Whether a slurmstepd of the job ("12") runs on this machine. True also where /proc does not tell.
 */
bool slurm_scontrol_has_steps(const char *job);

/* Whether Slurm says that the job has nothing on the node any more: it has ended, waits, is
 * elsewhere, or is not known. A controller that does not answer says nothing. */
bool slurm_scontrol_has_left(const char *job, const char *node);
