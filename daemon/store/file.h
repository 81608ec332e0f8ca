/**
 * Location of the store's database: its file, or memory while the file cannot be used; and changes
 * between them. Private to the store.
 */
#pragma once
#include <stdbool.h>

#include "store/members.h"

/* Opens the file. If it is broken and a second check confirms it, replaces it by a new one.
 * how_broken is the known reason; NULL: opening tells. Otherwise opens memory, with the file's
 * state and the file for reading if possible. Sets state and note. Fails only with NO_MEMORY. db
 * must not be open. */
enum berth_code store_file_open(struct store *store, const char *how_broken, struct berth_err *err);

/* Returns true when the database is in memory, without the file's state. */
bool store_file_is_unread(const struct store *store);

/* Continues in memory, for the reason why. The file stays open for reading. Changes nothing when
 * out of memory. */
void store_file_leave(struct store *store, const char *why);

/* Returns to the file, with memory's data. Returns false, without change, when that is not possible
 * yet; true when there is nothing to do. */
bool store_file_return(struct store *store);

/* Checks the file before a call. Opens or creates it anew if it was deleted or replaced, and
 * repairs its log as store_file_mend does. Fails as store_file_open. */
enum berth_code store_file_check(struct store *store, struct berth_err *err);

/* Reopens the database with a note, during a call that found the log's index lost. While the store
 * is in memory, closes the file beside it. */
void store_file_renew(struct store *store);

/* Removes the note on a set-aside file that has been moved away or is old. */
void store_file_clear_aside(struct store *store);

/* Stops using a file or log that was shortened. Opens the rest, or sets it aside and begins anew,
 * with a note. Cheap without changes: call it before each call, and after it for changes
 * meanwhile. */
void store_file_mend(struct store *store);

/* Reads the sizes of the files: -1 no such file; STORE_BYTES_UNKNOWN for all while db is no file
 * with a log. */
#define STORE_BYTES_UNKNOWN (-2)
void store_file_sizes(const struct store *store, int64_t ret_bytes[STORE_PARTS]);

void store_file_close(struct store *store);
