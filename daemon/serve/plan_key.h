/**
 * Plan of Bind under its key: the first plan is kept. The caller's claim of that key stores it;
 * without one, a cache in memory does for a while (serve/plan_cache.h). Loop thread only.
 */
#pragma once
#include <jansson.h>
#include <sys/types.h>

#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "varlink/method.h"

/* Zero-initialise: no key. */
struct plan_key {
    struct daemon *daemon; /* NULL: the request has no key */
    uid_t uid;
    const char *key; /* borrowed */
    char *asked;     /* owned: the request as canonical text */
    bool is_claimed; /* a claim keeps the plan for its lifetime */
    char claim_id[CLAIM_ID_SIZE];
    struct outcome stored; /* waits until the claim with the plan is stored */
};

/* Looks up the plan under this key, which must outlive ret. *ret_stands is a new reference to the
 * kept answer, or NULL. Fails with KEY_MISMATCH and NO_MEMORY. Call plan_key_done in any case. */
enum berth_code plan_key_find(const struct call *call, const char *key, struct plan_key *ret,
                              json_t **ret_stands, struct berth_err *err);

/* Keeps the plan in *json. If another request was faster, replaces *json by its plan. A plan that
 * cannot be kept, because it is too large or its claim has ended, gets a warning. Fails with
 * KEY_MISMATCH and NO_MEMORY. */
enum berth_code plan_key_stand(struct plan_key *key, json_t **json, struct berth_err *err);

/* Stream function that answers with *take_json, which it consumes. Under a claim it waits until the
 * plan is stored. */
enum stream_step plan_key_answer(struct plan_key *key, json_t **take_json, json_t **ret_reply,
                                 struct berth_err *err);
void plan_key_done(struct plan_key *key);
