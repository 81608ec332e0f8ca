/**
 * Host memory on one NUMA node: mapped, bound by mbind, touched by several threads. move_pages
 * proves the place of a sample of its pages. Uses huge pages where the kernel gives any.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/why.h"

struct gpu_pages {
    char *base;
    size_t bytes;
    char *start; /* this and mapped are private to gpu/driver/pages.c */
    size_t mapped;
};

/* numa is the operating system's number. only: no other node has memory, so that a kernel that
 * forbids mbind does no harm. */
bool gpu_pages_new(int numa, bool only, size_t bytes, struct gpu_pages *ret_pages,
                   struct probe_why *why);
void gpu_pages_done(struct gpu_pages *pages);
