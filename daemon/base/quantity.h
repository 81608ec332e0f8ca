/**
 * Times, sizes and rates in sentences for a person.
 *
 * Pure; any thread.
 */
#pragma once
#include <stddef.h>

#define QUANTITY_SIZE 32

/* "1.34 ms", three digits; ns >= 0. */
const char *quantity_time(double ns, char text[QUANTITY_SIZE]);

/* "64 MiB", "1.5 GiB", "4095 bytes": powers of 1024, three digits. */
const char *quantity_size(double bytes, char text[QUANTITY_SIZE]);

/* Both likewise, side by side in one sentence; in bytes where they differ and look the same. */
void quantity_sizes(double a, double b, char text_a[QUANTITY_SIZE], char text_b[QUANTITY_SIZE]);

/* "4.72 TB/s", three digits: powers of 1000. */
const char *quantity_rate(double bytes_per_s, char text[QUANTITY_SIZE]);
