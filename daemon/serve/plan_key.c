#include "serve/plan_key.h"

#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "claim/plan.h"
#include "serve/answer.h"

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
}

/* Returns the claim that keeps the plan; NULL when it has ended. */
static const struct claim *claim_of(const struct plan_key *key)
{
    return claim_set_find(claim_keep_claims(key->daemon->claims), key->claim_id);
}

/* Reads the kept plan from the claim, or from the cache if claim is NULL. *ret stays NULL when
 * there is none. */
static enum berth_code recall(struct plan_key *key, const struct claim *claim, json_t **ret,
                              struct berth_err *err)
{
    if (claim != NULL)
        return claim_plan_recall(claim, key->asked, ret, err);
    const char *answered = plan_cache_find(&key->daemon->plans, key->uid, key->key, key->asked,
                                           clock_mono_ns(&key->daemon->clock));
    *ret = answered != NULL ? json_loads(answered, 0, NULL) : NULL;
    return answered == NULL || *ret != NULL ? BERTH_OK : no_memory(err);
}

static bool keep(struct plan_key *key, const struct claim *claim, const char *answered)
{
    if (claim != NULL)
        return claim_keep_plan(key->daemon->claims, claim, key->asked, answered);
    return plan_cache_keep(&key->daemon->plans, key->uid, key->key, key->asked, answered,
                           clock_mono_ns(&key->daemon->clock));
}

static enum berth_code warn(json_t *json, enum reason_code reason, struct berth_err *err)
{
    struct reasons reasons = {0};
    reasons_add(&reasons, reason, NO_SUBJECTS, NO_NUMBERS);
    return answer_append(json_object_get(json, "warnings"), answer_reason(&reasons.item[0]))
               ? BERTH_OK
               : no_memory(err);
}

enum berth_code plan_key_find(const struct call *call, const char *key, struct plan_key *ret,
                              json_t **ret_stands, struct berth_err *err)
{
    struct daemon *daemon = call->daemon;
    const struct claim *claim =
        daemon->claims != NULL
            ? claim_set_find_key(claim_keep_claims(daemon->claims), call->peer->uid, key)
            : NULL;
    *ret = (struct plan_key){.daemon = daemon,
                             .uid = call->peer->uid,
                             .key = key,
                             .asked = claim_plan_text(call->params),
                             .is_claimed = claim != NULL};
    if (ret->asked == NULL)
        return no_memory(err);
    if (claim != NULL)
        memcpy(ret->claim_id, claim->id, sizeof ret->claim_id);
    return recall(ret, claim, ret_stands, err);
}

enum berth_code plan_key_stand(struct plan_key *key, json_t **json, struct berth_err *err)
{
    const struct claim *claim = key->is_claimed ? claim_of(key) : NULL;
    json_t *stands = NULL;
    if (key->is_claimed && claim == NULL)
        return warn(*json, REASON_KEY_NOT_KEPT, err);
    enum berth_code code = recall(key, claim, &stands, err);
    if (code != BERTH_OK)
        return code;
    if (stands != NULL) {
        json_decref(*json);
        *json = stands;
        return BERTH_OK;
    }
    char *answered = print_tree(*json, JSON_COMPACT);
    if (answered == NULL)
        code = no_memory(err);
    else if (strlen(key->asked) + strlen(answered) > CLAIM_PLAN_MAX)
        code = warn(*json, REASON_KEY_NOT_KEPT, err);
    else if (!keep(key, claim, answered))
        code = no_memory(err);
    free(answered);
    return code;
}

enum stream_step plan_key_answer(struct plan_key *key, json_t **take_json, json_t **ret_reply,
                                 struct berth_err *err)
{
    json_t *json = *take_json;
    if (!key->is_claimed) {
        *ret_reply = json;
        *take_json = NULL;
        return STREAM_LAST;
    }
    if (key->stored.next == NULL) {
        *take_json = NULL;
        if (claim_keep_answer(key->daemon->claims, json, false, NULL, &key->stored, err) !=
            BERTH_OK)
            return STREAM_ERROR;
    }
    return key->stored.next(key->stored.state, ret_reply, err);
}

void plan_key_done(struct plan_key *key)
{
    if (key->stored.free_state != NULL)
        key->stored.free_state(key->stored.state);
    free(key->asked);
    *key = (struct plan_key){0};
}
