/**
 * Transfer of data between the file and the memory database that replaces it. Private to the store.
 *
 * While the file cannot be used, the store uses a database in memory. State (baselines, findings,
 * claims) is first copied from the file, if it can be read, and replaces the file's when the file
 * works again. Measurements (runs and their data) are added to the file's.
 *
 * A new table needs a row in one of the two lists of store/memory_db.c, or its data is lost with
 * the memory.
 */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Copies file's state into memory, which is new, in one transaction. On failure memory is
 * unchanged. Fails as store_db_error. */
enum berth_code store_memory_db_fill(sqlite3 *file, sqlite3 *memory, struct berth_err *err);

/* Moves all data of memory into file, in one transaction of file. With has_state, memory got the
 * file's state, so its own replaces that; otherwise its state is only added. Claims that were saved
 * in memory always replace the file's. On failure file is unchanged. Fails as store_db_error. */
enum berth_code store_memory_db_merge(sqlite3 *memory, bool has_state, sqlite3 *file,
                                      struct berth_err *err);

/* Deletes the older half of a memory database's runs when it exceeds max_bytes. */
#define STORE_MEMORY_BYTES (32 << 20)
void store_memory_db_bound(sqlite3 *memory, int64_t max_bytes);
