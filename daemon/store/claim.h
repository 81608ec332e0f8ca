/**
 * Claims in the store, so that they outlive the daemon. Any thread; blocks on the disk.
 */
#pragma once
#include "claim/set.h"
#include "store/store.h"

/* Replaces the stored claims by these, in one transaction; writes only changes. Keeps no
 * reference. */
enum berth_code store_save_claims(struct store *store, struct claim *const *claims, size_t count,
                                  uint64_t generation, struct berth_err *err);

/* Loads this boot's claims and the generation into an empty set. Skips claims of other boots and
 * counts them in ret_ended; the next save deletes them. Skips invalid rows. On failure the set
 * holds the claims read so far. Fails with UNAVAILABLE while store_is_unread. */
enum berth_code store_load_claims(struct store *store, struct claim_set *claims, size_t *ret_ended,
                                  struct berth_err *err);
