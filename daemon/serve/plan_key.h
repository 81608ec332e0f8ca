/**
 * A plan of Bind under its key: the first one stands, with the caller's claim of that key where
 * there is one, else for a while in memory (serve/plan_cache.h). Loop thread.
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
    char *asked;     /* owned: the request as one text */
    bool is_claimed; /* the plan stands as long as that claim */
    char claim_id[CLAIM_ID_SIZE];
    struct outcome stored; /* waits until the claim with the plan is stored */
};

/* Where a plan of the call under this key, which outlives ret, would stand. ret_stands: the answer
 * that stands already, a new reference; else NULL. KEY_MISMATCH; NO_MEMORY. plan_key_done in any
 * case. */
enum berth_code plan_key_find(const struct call *call, const char *key, struct plan_key *ret,
                              json_t **ret_stands, struct berth_err *err);

/* Has the plan in *json stand, or takes the one that does by now, as another request was answered
 * meanwhile. What cannot stand, being too large or its claim having ended, is answered with a
 * warning. KEY_MISMATCH; NO_MEMORY. */
enum berth_code plan_key_stand(struct plan_key *key, json_t **json, struct berth_err *err);

/* For the stream that answers: with *take_json, at once or, under a claim, when that is stored;
 * json is NULL from then on. */
enum stream_step plan_key_answer(struct plan_key *key, json_t **take_json, json_t **ret_reply,
                                 struct berth_err *err);
void plan_key_done(struct plan_key *key);
