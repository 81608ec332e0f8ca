/**
 * Where the store's database is: in its file, or in memory while the file cannot be used; and the
 * ways between the two. Private to the store.
 */
#pragma once
#include <stdbool.h>

#include "store/inner.h"

/* Opens what there is to open: the file; else, when it is broken (how_broken: because of this;
 * NULL: when opening it says so) and a second look agrees, a fresh one in its place; else memory,
 * with the file's state and the file beside it when that can be read. Sets state and note. Fails
 * only with NO_MEMORY. db must not be open. */
enum berth_code store_file_open(struct store *store, const char *how_broken, struct berth_err *err);

/* Goes on in memory, because of this. The file stays open beside it for reading. Without memory for
 * that, nothing has changed. */
void store_file_leave(struct store *store, const char *why);

/* Back into the file, with what memory has. False when that cannot be done yet; all is as it was
 * then. Nothing to do: true. */
bool store_file_return(struct store *store);

/* Before a call: a file that was deleted or replaced is opened, or begun, anew, and what was done
 * to its log is mended, as by store_file_mend. Fails as store_file_open. */
enum berth_code store_file_check(struct store *store, struct berth_err *err);

/* In a call that found the index of the log lost: the database is closed and opened anew, by
 * store_file_open, with a note. While the store is in memory, the file beside it is closed. */
void store_file_renew(struct store *store);

/* What was set aside may have been moved away meanwhile, or long ago: then it is noted no more. */
void store_file_remember(struct store *store);

/* A file or a log that somebody has shortened is not used any longer: what is left of it is opened,
 * or set aside and begun anew, with a note. Cheap when nothing has happened: before a call, and
 * after it for what happened meanwhile. */
void store_file_mend(struct store *store);

/* Sizes of the files: -1 no such file, STORE_BYTES_UNKNOWN all of them while db is no file with a
 * log. */
#define STORE_BYTES_UNKNOWN (-2)
void store_file_sizes(const struct store *store, int64_t ret_bytes[STORE_PARTS]);

void store_file_close(struct store *store);
