/**
 * The key of a plan whose request names none.
 */
#pragma once
#include <stdbool.h>

#define LIB_KEY_SIZE 40

/* Returns BERTH_KEY where it is set; an empty value means no key. Else, in a Slurm job, returns
 * "slurm/1234.bind", which is within the job's claim if Slurm's prolog makes one. NULL: no key.
 * Borrowed from the environment or from buffer. */
const char *lib_key_default(char buffer[LIB_KEY_SIZE]);

/* True for the number of a Slurm job; false for NULL. */
bool lib_key_is_job(const char *text);
