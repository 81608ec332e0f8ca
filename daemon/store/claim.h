/**
 * The claims in the store, so that they outlive the daemon. As a part of the store: any thread,
 * blocks on the disk.
 */
#pragma once
#include "claim/set.h"
#include "store/store.h"

/* Makes the stored claims these, in one transaction; only what changed is written. The claims are
 * read, their references left alone. */
enum berth_code store_save_claims(struct store *store, struct claim *const *claims, size_t count,
                                  uint64_t generation, struct berth_err *err);

/* Puts those of this boot into an empty set, with the generation. What another boot left is skipped
 * and counted in ret_ended; the next save deletes it. On failure the set holds what could be read.
 * A row that makes no sense is skipped. */
enum berth_code store_load_claims(struct store *store, struct claim_set *claims, size_t *ret_ended,
                                  struct berth_err *err);
