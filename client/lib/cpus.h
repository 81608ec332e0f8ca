/**
 * Sets of cpus or NUMA nodes in the kernel's notation: lists such as 0-7,64. Pure, except
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

/* Parses such a list; a newline may end it. False for any other text and for numbers of
 * LIB_CPUS_MAX or more; ret_cpus is then untouched. */
bool lib_cpus_parse(const char *list, struct lib_cpus *ret_cpus);

/* Writes the list, cut to size bytes. Returns the bytes of the whole list with its NUL. */
size_t lib_cpus_format(const struct lib_cpus *cpus, char *text, size_t size);

/* Affinity of a thread, 0 for the calling one. False with errno when the kernel does not report it.
 */
bool lib_cpus_of(pid_t thread, struct lib_cpus *ret_cpus);
