/**
 * Under which key something is planned that was asked for without one.
 */
#pragma once
#include <stdbool.h>

#define LIB_KEY_SIZE 40

/* BERTH_KEY, where it is set: empty means none. Else, in a job of Slurm's, "slurm/1234.bind", which
 * is in the claim of the job that Slurm's prolog makes, if it does. NULL: none. Borrowed from the
 * environment, or buffer. */
const char *lib_key_default(char buffer[LIB_KEY_SIZE]);

/* Whether that is the number of a job of Slurm's; NULL is none. */
bool lib_key_is_job(const char *text);
