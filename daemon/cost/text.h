/**
 * Times, sizes and rates in sentences for a person.
 *
 * Pure; any thread.
 */
#pragma once
#include <stddef.h>

#define PLAN_TEXT_SIZE 32

/* "1.34 ms", three digits; ns >= 0. */
const char *plan_text_time(double ns, char text[PLAN_TEXT_SIZE]);

/* "64 MiB", "1.5 GiB", "4095 bytes": powers of 1024, three digits. */
const char *plan_text_size(double bytes, char text[PLAN_TEXT_SIZE]);

/* Both likewise, side by side in one sentence; in bytes where they differ and look the same. */
void plan_text_sizes(double a, double b, char text_a[PLAN_TEXT_SIZE], char text_b[PLAN_TEXT_SIZE]);

/* "4.72 TB/s", three digits: powers of 1000. */
const char *plan_text_rate(double bytes_per_s, char text[PLAN_TEXT_SIZE]);
