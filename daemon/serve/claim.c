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

/* Reads how long a claim may wait for its places; 0: not at all. */
static enum berth_code read_wait(const json_t *params, const struct claim *spec, int64_t *ret_s,
                                 struct berth_err *err)
{
    enum berth_code code =
        request_int(params, "wait_s", CLAIM_WAIT_S_MIN, CLAIM_WAIT_S_MAX, 0, ret_s, err);
    if (code != BERTH_OK || *ret_s == 0)
        return code;
    if (spec->purpose != CLAIM_PROFILING)
        return err_invalid(err, "wait_s", "only a claim for profiling waits for its gpus");
    if (spec->owner.cgroup != NULL)
        return err_invalid(err, "owner_cgroup",
                           "a claim that waits ends with a process or its time");
    return BERTH_OK;
}

static enum berth_code read_claim(const struct call *call, struct claim *spec, int64_t *ret_ttl_s,
                                  int64_t *ret_wait_s, struct berth_err *err)
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
    if (code == BERTH_OK)
        code = read_wait(call->params, spec, ret_wait_s, err);
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

/* ---- a claim that waits for its gpus ---- */

struct waiting {
    struct claim_keep *keep;
    const struct clock *clock;
    struct claim *spec; /* its id: "" before it waits */
    int64_t ttl_s, wait_s;
    uint64_t until_ns;
    struct claim_obstacle by;
    struct berth_err why;
    struct outcome made; /* next is NULL before the claim is made */
};

static const struct claim *find_obstacle(const struct waiting *waiting)
{
    return claim_set_find(waiting->by.is_waiting ? claim_keep_waiting(waiting->keep)
                                                 : claim_keep_claims(waiting->keep),
                          waiting->by.id);
}

static json_t *waits_json(const struct waiting *waiting)
{
    const struct claim *by = find_obstacle(waiting);
    return json_pack("{s:n,s:n,s:{s:s,s:s,s:b,s:I,s:o,s:I}}", "claim", "stored", "waits_for",
                     "place", waiting->by.place, "claim", by->id, "is_waiting",
                     (int)waiting->by.is_waiting, "uid", (json_int_t)by->uid, "configuration",
                     optional(by->configuration), "expires_at_s",
                     (json_int_t)claim_keep_expires_at_s(waiting->keep, by));
}

/* Sets the error of a claim that has left the queue without its places. */
static enum stream_step end_waiting(const struct waiting *waiting, struct berth_err *err)
{
    if (claim_keep_is_ending(waiting->keep)) {
        err_set(err, BERTH_UNAVAILABLE, "the daemon ends; nothing was claimed");
    } else if (clock_mono_ns(waiting->clock) >= waiting->until_ns) {
        err_text(err, 0, waiting->why.arg[0].text);
        err_text(err, 1, waiting->why.arg[1].text);
        err_set(err, BERTH_ALREADY_CLAIMED, "waited %" PRId64 " s: %s", waiting->wait_s,
                waiting->why.detail);
    } else {
        err_set(err, BERTH_UNAVAILABLE, "the waiting request %s was released; nothing was claimed",
                waiting->spec->id);
    }
    return STREAM_ERROR;
}

/* Waits for the claim in the way; returns STREAM_LAST when there is none. */
static enum stream_step wait_for_place(struct waiting *waiting, json_t **ret_reply,
                                       struct berth_err *err)
{
    struct claim_keep *keep = waiting->keep;
    struct claim *spec = waiting->spec;
    struct berth_err why = {0};
    bool has_joined = spec->id[0] != '\0';
    if (claim_keep_is_ending(keep) ||
        (has_joined && claim_set_find(claim_keep_waiting(keep), spec->id) == NULL))
        return end_waiting(waiting, err);
    if (has_joined && find_obstacle(waiting) != NULL)
        return STREAM_WAIT;
    enum berth_code code = claim_keep_look(keep, spec, &waiting->by, &why);
    if (code == BERTH_OK)
        return STREAM_LAST;
    if (code != BERTH_ALREADY_CLAIMED) {
        *err = why;
        return STREAM_ERROR;
    }
    waiting->why = why;
    if (!has_joined)
        waiting->until_ns =
            clock_mono_ns(waiting->clock) + (uint64_t)waiting->wait_s * UINT64_C(1000000000);
    if (!has_joined && claim_keep_wait(keep, spec, waiting->wait_s, spec->id, err) != BERTH_OK)
        return STREAM_ERROR;
    *ret_reply = waits_json(waiting);
    if (*ret_reply == NULL)
        no_memory(err);
    return *ret_reply != NULL ? STREAM_REPLY : STREAM_ERROR;
}

static enum stream_step next_of_waiting(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct waiting *waiting = state;
    if (waiting->made.next == NULL) {
        enum stream_step step = wait_for_place(waiting, ret_reply, err);
        if (step != STREAM_LAST)
            return step;
        enum berth_code code =
            make_claim(waiting->keep, waiting->spec, waiting->ttl_s, &waiting->made, err);
        claim_keep_leave(waiting->keep, waiting->spec->id);
        if (code != BERTH_OK)
            return STREAM_ERROR;
    }
    return waiting->made.next(waiting->made.state, ret_reply, err);
}

static void waiting_free(void *state)
{
    struct waiting *waiting = state;
    claim_keep_leave(waiting->keep, waiting->spec->id);
    if (waiting->made.free_state != NULL)
        waiting->made.free_state(waiting->made.state);
    claim_unref(waiting->spec);
    free(waiting);
}

static enum berth_code make_when_free(struct daemon *daemon, const struct claim *spec,
                                      int64_t ttl_s, int64_t wait_s, struct outcome *ret,
                                      struct berth_err *err)
{
    struct waiting *waiting = malloc(sizeof *waiting);
    struct claim *copy = waiting != NULL ? claim_new(spec) : NULL;
    if (copy == NULL) {
        free(waiting);
        return no_memory(err);
    }
    *waiting = (struct waiting){.keep = daemon->claims,
                                .clock = &daemon->clock,
                                .spec = copy,
                                .ttl_s = ttl_s,
                                .wait_s = wait_s};
    *ret = (struct outcome){.kind = OUTCOME_STREAM,
                            .state = waiting,
                            .next = next_of_waiting,
                            .free_state = waiting_free};
    return BERTH_OK;
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
    int64_t ttl_s = 0, wait_s = 0;
    bool jobs_matter = false;
    enum berth_code code = read_claim(call, &spec, &ttl_s, &wait_s, err);
    if (code == BERTH_OK)
        code = claim_permission(&call->daemon->io, call->snap->graph, call->peer, &spec, err);
    if (code == BERTH_OK)
        code = claim_keep_check(keep, &spec, ttl_s, &jobs_matter, err);
    if (wait_s > 0 && (code == BERTH_OK || code == BERTH_ALREADY_CLAIMED)) {
        *err = (struct berth_err){0};
        code = make_when_free(call->daemon, &spec, ttl_s, wait_s, ret, err);
    } else if (code == BERTH_OK) {
        code = jobs_matter || spec.owner.cgroup != NULL
                   ? make_after_check(call, &spec, ttl_s, jobs_matter, ret, err)
                   : make_claim(keep, &spec, ttl_s, ret, err);
    }
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
    if (claim == NULL && id != NULL)
        claim = claim_set_find(claim_keep_waiting(call->daemon->claims), id);
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
    if (claim != NULL && claim_set_find(claim_keep_waiting(call->daemon->claims), claim->id))
        claim_keep_leave(call->daemon->claims, claim->id);
    else if (claim != NULL)
        claim_keep_release(call->daemon->claims, claim);
    else
        claim_keep_release_unread(call->daemon->claims, call->peer->uid,
                                  json_string_value(json_object_get(call->params, "key")));
    return claim_keep_answer(call->daemon->claims, result, true, NULL, ret, err);
}

/* Returns the claims of the set; NULL when out of memory. */
static json_t *claims_json(const struct claim_keep *keep, const struct claim_set *claims)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < claims->count; i++)
        ok = answer_append(array, claim_json(keep, claims->item[i]));
    if (ok)
        return array;
    json_decref(array);
    return NULL;
}

enum berth_code query_list_claims(const struct call *call, struct outcome *ret,
                                  struct berth_err *err)
{
    const struct claim_keep *keep = call->daemon->claims;
    json_t *result = json_pack("{s:o,s:o}", "claims", claims_json(keep, claim_keep_claims(keep)),
                               "waiting", claims_json(keep, claim_keep_waiting(keep)));
    if (result == NULL)
        return no_memory(err);
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return BERTH_OK;
}
