/* A set of CPU or NUMA node numbers, and the kernel's text form of one, "0-3,8". */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define CPU_LIST_MAX 4096

struct cpu_list {
    uint64_t word[CPU_LIST_MAX / 64];
};

/* Reads the kernel's text. False on anything but a list of numbers under CPU_LIST_MAX; an empty
 * text is the empty set. */
bool cpu_list_parse(const char *text, struct cpu_list *ret_list);

static inline void cpu_list_add(struct cpu_list *list, int number)
{
    list->word[number / 64] |= UINT64_C(1) << (number % 64);
}

static inline bool cpu_list_has(const struct cpu_list *list, int number)
{
    return number >= 0 && number < CPU_LIST_MAX &&
           (list->word[number / 64] >> (number % 64) & 1) != 0;
}

/* The lowest member that is at least from, or -1. */
int cpu_list_next(const struct cpu_list *list, int from);
