/**
 * A set of logical CPUs (PUs) by the operating system's numbers, 0 to CPUSET_MAX - 1.
 * A plain value: copy it, compare it with cpuset_equal. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CPUSET_MAX 4096

struct cpuset {
    uint64_t word[CPUSET_MAX / 64];
};

/* Parses the kernel's list format, "0-3,8,64-67". Spaces and a trailing newline are fine; an empty
 * text is the empty set. Fails with BAD_DATA on anything else, on 3-1, and on numbers of CPUSET_MAX
 * or more. */
enum berth_code cpuset_parse(const char *text, struct cpuset *ret_set, struct berth_err *err);

/* Writes the list format; never overruns, always terminates. Returns the length of the whole
 * text. */
size_t cpuset_format_list(const struct cpuset *set, char *buffer, size_t size);

/* Writes one hexadecimal number in the format of Slurm's mask_cpu, "0xff00"; "0x0" when empty.
 * Returns the length of the whole text. */
size_t cpuset_format_mask(const struct cpuset *set, char *buffer, size_t size);

/* Return the list or the mask in a new string that the caller frees; NULL only when out of
 * memory. */
char *cpuset_list_new(const struct cpuset *set);
char *cpuset_mask_new(const struct cpuset *set);

void cpuset_add(struct cpuset *set, unsigned cpu); /* ignores cpu >= CPUSET_MAX */
void cpuset_remove(struct cpuset *set, unsigned cpu);
bool cpuset_has(const struct cpuset *set, unsigned cpu);
size_t cpuset_count(const struct cpuset *set);
bool cpuset_is_empty(const struct cpuset *set);
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);
bool cpuset_intersects(const struct cpuset *a, const struct cpuset *b);
/* true when inner is a subset of outer */
bool cpuset_contains(const struct cpuset *outer, const struct cpuset *inner);
void cpuset_or(struct cpuset *set, const struct cpuset *other);
void cpuset_and(struct cpuset *set, const struct cpuset *other);

/* Returns the lowest member that is at least from, or -1. Iteration: for (int c = cpuset_next(s,
 * 0); c >= 0; c = cpuset_next(s, c + 1)) */
int cpuset_next(const struct cpuset *set, unsigned from);
