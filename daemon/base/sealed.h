/**
 * Files in memory whose readers need not trust the writer, nor the writer its readers (memfd_create
 * with seals).
 */
#pragma once
#include <stddef.h>

#include "base/err.h"

/* Makes a file with that content, which nobody can change or truncate. The caller closes it.
 * UNAVAILABLE where the kernel refuses. */
enum berth_code sealed_copy(const char *name, const void *data, size_t size, int *ret_fd,
                            struct berth_err *err);

/* Makes a file of so many zero bytes that stay of that size and that only ret_page can change.
 * munmap ends ret_page. UNAVAILABLE where the kernel refuses, as before Linux 5.1. */
enum berth_code sealed_page(const char *name, size_t size, void **ret_page, int *ret_fd,
                            struct berth_err *err);
