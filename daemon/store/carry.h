/**
 * What passes between the file and the memory that stands in for it. Private to the store.
 *
 * While the file cannot be used, the store works on a database in memory. What is state there
 * (baselines, findings) is copied from the file first, when that can still be read, and replaces
 * the file's when it works again; what is measured (runs and what belongs to them) is added to the
 * file's.
 *
 * A new table needs a row in one of the two lists of store/carry.c, or it is lost with the memory.
 */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Copies the state of file into memory, which is fresh, in one transaction. Fails as store_db_error
 * says, with memory as it was. */
enum berth_code store_carry_state(sqlite3 *file, sqlite3 *memory, struct berth_err *err);

/* Brings all that memory has into file, in one transaction of file. has_state: memory was given the
 * file's state, so that its own replaces that; else it only adds to it. Fails as store_db_error
 * says, with file as it was. */
enum berth_code store_carry_home(sqlite3 *memory, bool has_state, sqlite3 *file,
                                 struct berth_err *err);

/* Keeps a database in memory within its bound: when it has more than STORE_MEMORY_BYTES, the older
 * half of its runs goes. */
#define STORE_MEMORY_BYTES (32 << 20)
void store_carry_bound(sqlite3 *memory, int64_t max_bytes);
