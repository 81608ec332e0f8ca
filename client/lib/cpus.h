/**
 * Sets of cpus or NUMA nodes as the kernel writes them: lists such as 0-7,64. Pure, but for
 * lib_cpus_of.
 */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LIB_CPUS_MAX 16384

struct lib_cpus {
    unsigned long word[LIB_CPUS_MAX / (CHAR_BIT * sizeof(unsigned long))];
};

bool lib_cpus_has(const struct lib_cpus *cpus, unsigned n);

/* False on anything but such a list, which a line may end, and on numbers of LIB_CPUS_MAX or more:
 * ret_cpus is then untouched. */
bool lib_cpus_parse(const char *list, struct lib_cpus *ret_cpus);

/* Writes the list into size bytes, cut to them; returns the bytes that all of it takes with its
 * NUL. */
size_t lib_cpus_format(const struct lib_cpus *cpus, char *text, size_t size);

/* The affinity of a thread, 0 for the calling one; false with errno when the kernel does not say.
 */
bool lib_cpus_of(pid_t thread, struct lib_cpus *ret_cpus);
