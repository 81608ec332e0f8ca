/**
 * Times and sizes in sentences for a person.
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
