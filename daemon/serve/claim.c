/* io.berth.Placement.Claim, Release and ListClaims. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "claim/jobs.h"
#include "claim/owner.h"
#include "claim/permission.h"
#include "node/jsonify.h"
#include "serve/answer.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"

/* in the order of enum claim_purpose */
static const char *const purposes[] = {"compute", "profiling", NULL};

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for a claim");
}

static json_t *optional(const char *text) { return text != NULL ? json_string(text) : json_null(); }

static json_t *claim_json(const struct claim_keep *keep, const struct claim *claim)
{
    char name[CLAIM_PLACE_SIZE];
    json_t *json = json_object(), *places = json_array();
    bool ok = json != NULL && places != NULL;
    for (const char *at = claim->places; ok && claim_next_place(&at, name);)
        ok = answer_append(places, json_string_nocheck(name));
    ok = answer_set(json, "claim", json_string_nocheck(claim->id)) && ok;
    ok = answer_set(json, "places", places) && ok;
    ok = ok &&
         answer_set(json, "purpose", json_string_nocheck(claim_purpose_name(claim->purpose))) &&
         answer_set(json, "configuration", optional(claim->configuration)) &&
         answer_set(json, "key", optional(claim->key)) &&
         answer_set(json, "uid", json_integer((json_int_t)claim->uid)) &&
         answer_set(json, "expires_at_s", json_integer(claim_keep_expires_at_s(keep, claim))) &&
         answer_set(json, "owner_pid",
                    claim->owner.pid != 0 ? json_integer(claim->owner.pid) : json_null()) &&
         answer_set(json, "owner_cgroup", optional(claim->owner.cgroup));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static enum berth_code parse_places(const struct graph *graph, const json_t *params, bool *asked,
                                    struct berth_err *err)
{
    const json_t *names = NULL, *name;
    size_t i;
    enum berth_code code = request_array(params, "places", CLAIM_PLACES_MAX, &names, err);
    if (code == BERTH_OK && json_array_size(names) == 0)
        code = err_invalid(err, "places", "a claim names at least one");
    if (code != BERTH_OK)
        return code;
    json_array_foreach(names, i, name)
    {
        place_id place = PLACE_NONE;
        code = request_place(graph, name, "places", &place, err);
        if (code != BERTH_OK)
            return code;
        asked[place] = true;
    }
    return BERTH_OK;
}

/* Returns names separated by commas; NULL when out of memory. */
static char *list_marked(const struct graph *graph, const bool *asked)
{
    size_t size = 1;
    for (size_t p = 0; p < graph->place_count; p++)
        size += asked[p] ? strlen(graph->places[p].name) + 1 : 0;
    char *text = calloc(size, 1), *end = text;
    for (size_t p = 0; text != NULL && p < graph->place_count; p++)
        if (asked[p]) {
            *end = ',';
            end = stpcpy(end + (end > text), graph->places[p].name);
        }
    return text;
}

/* Reads the places and returns the node's names for them, in its order, each once. The caller frees
 * *ret. */
static enum berth_code read_places(const struct graph *graph, const json_t *params, char **ret,
                                   struct berth_err *err)
{
    bool *asked = calloc(graph->place_count, sizeof *asked);
    if (asked == NULL)
        return no_memory(err);
    enum berth_code code = parse_places(graph, params, asked, err);
    char *text = code == BERTH_OK ? list_marked(graph, asked) : NULL;
    free(asked);
    if (code != BERTH_OK)
        return code;
    if (text == NULL)
        return no_memory(err);
    *ret = text;
    return BERTH_OK;
}

/* Borrows from params; NULL when absent. */
static enum berth_code read_text(const json_t *params, const char *name, char **ret,
                                 struct berth_err *err)
{
    const char *text = NULL;
    enum berth_code code = request_text(params, name, CLAIM_TEXT_MAX, &text, err);
    *ret = (char *)(uintptr_t)text;
    return code;
}

/* Reads the owner. A cgroup is checked later on the thread pool, because it may have many
 * processes. */
static enum berth_code read_owner(const struct call *call, struct claim_owner *ret,
                                  struct berth_err *err)
{
    const json_t *pid = json_object_get(call->params, "owner_pid"),
                 *cgroup = json_object_get(call->params, "owner_cgroup");
    if (json_is_integer(pid) && json_is_string(cgroup))
        return err_invalid(err, "owner_cgroup",
                           "a claim has one owner, and owner_pid names another");
    if (json_is_integer(pid))
        return claim_owner_process(&call->daemon->io, call->peer, json_integer_value(pid), ret,
                                   err);
    if (json_is_string(cgroup))
        *ret = (struct claim_owner){.cgroup = (char *)(uintptr_t)json_string_value(cgroup)};
    return BERTH_OK;
}

static enum berth_code read_claim(const struct call *call, struct claim *spec, int64_t *ret_ttl_s,
                                  struct berth_err *err)
{
    int purpose = CLAIM_COMPUTE;
    enum berth_code code = read_places(call->snap->graph, call->params, &spec->places, err);
    if (code == BERTH_OK)
        code = request_word(call->params, "purpose", purposes, CLAIM_COMPUTE, &purpose, err);
    spec->purpose = (enum claim_purpose)purpose;
    if (code == BERTH_OK)
        code = read_text(call->params, "configuration", &spec->configuration, err);
    if (code == BERTH_OK && spec->configuration != NULL && spec->purpose != CLAIM_PROFILING)
        code = err_invalid(err, "configuration",
                           "it says how a gpu is profiled, and this claim is for computing");
    if (code == BERTH_OK)
        code = read_text(call->params, "key", &spec->key, err);
    if (code == BERTH_OK)
        code = request_int(call->params, "ttl_s", 1, INT64_MAX, 0, ret_ttl_s, err);
    if (code == BERTH_OK)
        code = read_owner(call, &spec->owner, err);
    return code;
}

/* Makes the claim and its answer. */
static enum berth_code make_claim(struct claim_keep *keep, const struct claim *spec, int64_t ttl_s,
                                  struct outcome *ret, struct berth_err *err)
{
    const struct claim *claim = NULL;
    bool is_new = spec->key == NULL ||
                  claim_set_find_key(claim_keep_claims(keep), spec->uid, spec->key) == NULL;
    enum berth_code code = claim_keep_add(keep, spec, ttl_s, &claim, err);
    if (code != BERTH_OK)
        return code;
    json_t *json = claim_json(keep, claim),
           *result = json != NULL ? json_pack("{s:o}", "claim", json) : NULL;
    bool is_nameless =
        is_new && claim->key == NULL && claim->owner.pid == 0 && claim->owner.cgroup == NULL;
    code = claim_keep_answer(keep, result, true, is_nameless ? claim : NULL, ret, err);
    if (code != BERTH_OK && is_new) /* nobody would know of it */
        claim_keep_release(keep, claim);
    return code;
}

/* ---- a claim that needs a check of processes ---- */

/* The thread pool checks processes. The loop then checks everything else again, because it may have
 * changed. */
struct claiming {
    struct claim_keep *keep;
    const struct snapshot *snap;
    struct files io;
    struct peer peer;
    struct claim *spec;
    bool jobs_matter;
    int64_t ttl_s;
    struct outcome made; /* next is NULL before the claim is made */
};

static enum berth_code check_processes(void *state, json_t **ret, struct berth_err *err)
{
    const struct claiming *claiming = state;
    const struct claim *spec = claiming->spec;
    struct claim_owner owner;
    (void)ret;
    enum berth_code code =
        spec->owner.cgroup != NULL
            ? claim_owner_cgroup(&claiming->io, &claiming->peer, spec->owner.cgroup, &owner, err)
            : BERTH_OK;
    return code == BERTH_OK && claiming->jobs_matter
               ? claim_jobs_check(&claiming->io, claiming->snap->graph, spec, err)
               : code;
}

static enum stream_step next(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct claiming *claiming = state;
    if (claiming->made.next == NULL && make_claim(claiming->keep, claiming->spec, claiming->ttl_s,
                                                  &claiming->made, err) != BERTH_OK)
        return STREAM_ERROR;
    return claiming->made.next(claiming->made.state, ret_reply, err);
}

static void claiming_free(void *state)
{
    struct claiming *claiming = state;
    if (claiming->made.free_state != NULL)
        claiming->made.free_state(claiming->made.state);
    snapshot_unref(claiming->snap);
    claim_unref(claiming->spec);
    free(claiming);
}

static enum berth_code make_after_check(const struct call *call, const struct claim *spec,
                                        int64_t ttl_s, bool jobs_matter, struct outcome *ret,
                                        struct berth_err *err)
{
    struct claiming *claiming = malloc(sizeof *claiming);
    struct claim *copy = claiming != NULL ? claim_new(spec) : NULL;
    if (copy == NULL) {
        free(claiming);
        return no_memory(err);
    }
    *claiming = (struct claiming){.keep = call->daemon->claims,
                                  .snap = snapshot_ref(call->snap),
                                  .io = call->daemon->io,
                                  .peer = *call->peer,
                                  .spec = copy,
                                  .jobs_matter = jobs_matter,
                                  .ttl_s = ttl_s};
    *ret = (struct outcome){.kind = OUTCOME_STREAM,
                            .state = claiming,
                            .work = check_processes,
                            .next = next,
                            .acts = true,
                            .free_state = claiming_free};
    return BERTH_OK;
}

enum berth_code query_claim(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct claim_keep *keep = call->daemon->claims;
    struct claim spec = {.uid = call->peer->uid, .is_admins = call->peer->is_admin};
    int64_t ttl_s = 0;
    bool jobs_matter = false;
    enum berth_code code = read_claim(call, &spec, &ttl_s, err);
    if (code == BERTH_OK)
        code = claim_permission(&call->daemon->io, call->snap->graph, call->peer, &spec, err);
    if (code == BERTH_OK)
        code = claim_keep_check(keep, &spec, ttl_s, &jobs_matter, err);
    if (code == BERTH_OK)
        code = jobs_matter || spec.owner.cgroup != NULL
                   ? make_after_check(call, &spec, ttl_s, jobs_matter, ret, err)
                   : make_claim(keep, &spec, ttl_s, ret, err);
    free(spec.places);
    return code;
}

static enum berth_code claim_to_release(const struct call *call, const struct claim **ret,
                                        struct berth_err *err)
{
    const struct claim_set *claims = claim_keep_claims(call->daemon->claims);
    char *id = NULL, *key = NULL;
    enum berth_code code = read_text(call->params, "claim", &id, err);
    if (code == BERTH_OK)
        code = read_text(call->params, "key", &key, err);
    if (code == BERTH_OK && (id == NULL) == (key == NULL))
        code = err_invalid(err, id == NULL ? "claim" : "key",
                           "either the claim or its key says what to release");
    if (code != BERTH_OK)
        return code;
    const struct claim *claim =
        id != NULL ? claim_set_find(claims, id) : claim_set_find_key(claims, call->peer->uid, key);
    if (claim == NULL && id != NULL) {
        bool is_key = claim_set_find_key(claims, call->peer->uid, id) != NULL;
        if (!is_key && claim_keep_is_unread(call->daemon->claims))
            return err_set(err, BERTH_UNAVAILABLE,
                           "claim %.60s is unknown: the stored claims could not be read yet; ask "
                           "again once berth status shows no such problem, or release its key",
                           id);
        err_set(err, BERTH_NO_SUCH_CLAIM, "there is no claim %.60s: %s", id,
                is_key ? "it is the key of one (berth release --key)"
                       : "it has ended, or never was");
        err_text(err, 0, id);
        return BERTH_NO_SUCH_CLAIM;
    }
    if (claim != NULL && claim->uid != call->peer->uid && !call->peer->is_admin)
        return err_set(err, BERTH_PERMISSION_DENIED,
                       "claim %s is not yours to release: it is of uid %ju", claim->id,
                       (uintmax_t)claim->uid);
    *ret = claim;
    return BERTH_OK;
}

enum berth_code query_release(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    const struct claim *claim = NULL;
    enum berth_code code = claim_to_release(call, &claim, err);
    if (code != BERTH_OK)
        return code;
    json_t *result = json_pack("{s:i}", "released", claim != NULL ? 1 : 0);
    if (result == NULL)
        return no_memory(err);
    if (claim != NULL)
        claim_keep_release(call->daemon->claims, claim);
    else
        claim_keep_release_unread(call->daemon->claims, call->peer->uid,
                                  json_string_value(json_object_get(call->params, "key")));
    return claim_keep_answer(call->daemon->claims, result, true, NULL, ret, err);
}

enum berth_code query_list_claims(const struct call *call, struct outcome *ret,
                                  struct berth_err *err)
{
    const struct claim_set *claims = claim_keep_claims(call->daemon->claims);
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < claims->count; i++)
        ok = answer_append(array, claim_json(call->daemon->claims, claims->item[i]));
    if (!ok)
        json_decref(array);
    json_t *result = ok ? json_pack("{s:o}", "claims", array) : NULL;
    if (result == NULL)
        return no_memory(err);
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return BERTH_OK;
}
