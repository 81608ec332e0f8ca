/* Calls berth_claim, berth_release and berth_list_claims: requests, replies and their release. */
#include "lib/read.h"
#include "lib/write.h"

#include <limits.h>

#define CLAIM "io.berth.Placement.Claim"

static const char *const purpose_names[] = {"", "compute", "profiling", NULL};

void berth_claim_request_init(struct berth_claim_request *request)
{
    *request = (struct berth_claim_request){.owner_pid = -1, .ttl_s = -1, .wait_s = -1};
}

static struct lib_write write_request(const struct berth_claim_request *request)
{
    struct lib_write write = lib_write_begin();
    json_t *object = write.parameters;
    lib_write_texts(&write, object, "places", &request->places);
    lib_write_enum(&write, object, "purpose", (int)request->purpose, purpose_names,
                   BERTH_PURPOSE_PROFILING + 1);
    lib_write_text(&write, object, "configuration", request->configuration);
    lib_write_text(&write, object, "key", request->key);
    lib_write_integer(&write, object, "owner_pid", request->owner_pid);
    lib_write_text(&write, object, "owner_cgroup", request->owner_cgroup);
    lib_write_integer(&write, object, "ttl_s", request->ttl_s);
    lib_write_integer(&write, object, "wait_s", request->wait_s);
    return write;
}

static void fill_claim(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_claim_info *)ret = (struct berth_claim_info){
        .claim = lib_read_text(read, item, "claim"),
        .places = lib_read_texts(read, item, "places"),
        .purpose = (enum berth_purpose)lib_read_enum(read, item, "purpose", purpose_names),
        .configuration = lib_read_maybe_text(read, item, "configuration"),
        .key = lib_read_maybe_text(read, item, "key"),
        .owner_cgroup = lib_read_maybe_text(read, item, "owner_cgroup"),
        .uid = lib_read_integer(read, item, "uid"),
        .owner_pid = lib_read_maybe_integer(read, item, "owner_pid"),
        .expires_at_s = lib_read_integer(read, item, "expires_at_s"),
    };
}

static void fill_grant(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_grant *grant = ret;
    lib_read_object(read, reply, "claim", fill_claim, &grant->claim);
    grant->stored = lib_read_maybe_bool(read, reply, "stored");
}

/* Timeout of a call that may wait for wait_s on top. */
static int with_wait_ms(int timeout_ms, int64_t wait_s)
{
    if (timeout_ms < 0 || wait_s <= 0)
        return timeout_ms;
    return wait_s > (INT_MAX - timeout_ms) / 1000 ? INT_MAX : timeout_ms + (int)wait_s * 1000;
}

int berth_claim(struct berth *berth, const struct berth_claim_request *request,
                struct berth_grant **ret_grant)
{
    if (request->places.item == NULL || request->purpose == BERTH_PURPOSE_UNKNOWN ||
        request->ttl_s < 0)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a claim has places, a purpose and a time to live");
    struct lib_write write = write_request(request);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    if (status != BERTH_DONE)
        return status;
    const int timeout_ms = berth->timeout_ms;
    berth->timeout_ms = with_wait_ms(timeout_ms, request->wait_s);
    status = lib_ask(berth, CLAIM, parameters, sizeof **ret_grant, fill_grant, ret_grant);
    berth->timeout_ms = timeout_ms;
    return status;
}

void berth_grant_free(struct berth_grant *grant) { lib_result_free(grant); }

struct released {
    int released;
};

static void fill_released(struct lib_read *read, const json_t *reply, void *ret)
{
    ((struct released *)ret)->released = lib_read_int(read, reply, "released");
}

int berth_release(struct berth *berth, const char *claim, const char *key, int *ret_released)
{
    if ((claim == NULL) == (key == NULL))
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a claim is released by its name or by its key");
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "claim", claim);
    lib_write_text(&write, write.parameters, "key", key);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    if (status != BERTH_DONE)
        return status;
    struct released *released;
    status = lib_ask(berth, "io.berth.Placement.Release", parameters, sizeof *released,
                     fill_released, &released);
    if (status != BERTH_DONE)
        return status;
    if (ret_released != NULL)
        *ret_released = released->released;
    lib_result_free(released);
    return BERTH_DONE;
}

static void fill_claims(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_claims *claims = ret;
    claims->claims = lib_read_array(read, reply, "claims", sizeof *claims->claims, fill_claim,
                                    &claims->claim_count);
    claims->waiting = lib_read_array(read, reply, "waiting", sizeof *claims->waiting, fill_claim,
                                     &claims->waiting_count);
}

int berth_list_claims(struct berth *berth, struct berth_claims **ret_claims)
{
    return lib_ask(berth, "io.berth.Placement.ListClaims", json_object(), sizeof **ret_claims,
                   fill_claims, ret_claims);
}

void berth_claims_free(struct berth_claims *claims) { lib_result_free(claims); }
