/**
 * Arrays that grow by one item at a time.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more item in an array that holds count; array points to the pointer to its
 * items. Room grows at powers of two, so count alone determines it: an array grown this way is
 * never shrunk. False when out of memory; the array is unchanged then. */
bool grow_by_one(void *array, size_t count, size_t item_size);
