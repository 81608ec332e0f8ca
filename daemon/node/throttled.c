#include "node/throttled.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "node/pci.h"

#define ALL ((1U << THROTTLE_RUNS) - 1)

static struct throttle_gpu *find(struct throttles *throttles, const char *at)
{
    for (size_t i = 0; i < throttles->count; i++)
        if (strcmp(throttles->gpu[i].at, at) == 0)
            return &throttles->gpu[i];
    return NULL;
}

static struct throttle_gpu *add(struct throttles *throttles, const char *at)
{
    if (throttles->count == THROTTLE_GPUS)
        return NULL;
    struct throttle_gpu *gpu = &throttles->gpu[throttles->count++];
    *gpu = (struct throttle_gpu){0};
    snprintf(gpu->at, sizeof gpu->at, "%s", at);
    return gpu;
}

void throttled_enter(struct throttles *throttles, const char *at, const char *why, int64_t at_s)
{
    struct throttle_gpu *gpu = find(throttles, at);
    if (gpu == NULL && (gpu = add(throttles, at)) == NULL)
        return;
    gpu->runs = (gpu->runs << 1 | (why != NULL)) & ALL;
    gpu->count += gpu->count < THROTTLE_RUNS;
    if (gpu->runs == 0)
        gpu->since_s = 0;
    else if (gpu->since_s == 0)
        gpu->since_s = at_s;
    if (why != NULL)
        snprintf(gpu->why, sizeof gpu->why, "%s", why);
    text_clean(gpu->why);
}

int throttled_count(const struct throttle_gpu *gpu) { return __builtin_popcount(gpu->runs); }

bool throttled_parse(const json_t *object, struct throttles *throttles)
{
    const char *at, *why;
    json_int_t runs, count, since_s;
    if (json_unpack((json_t *)object, "{s:s, s:I, s:I, s:I, s:s}", "at", &at, "runs", &runs,
                    "count", &count, "since_s", &since_s, "why", &why) != 0 ||
        strlen(at) >= sizeof throttles->gpu[0].at || pci_parse(at) == PCI_NONE || count < 1 ||
        count > THROTTLE_RUNS || runs < 0 || runs >= 1 << count || since_s < 0 ||
        find(throttles, at) != NULL)
        return false;
    struct throttle_gpu *gpu = add(throttles, at);
    if (gpu == NULL)
        return false;
    gpu->runs = (unsigned)runs;
    gpu->count = (int)count;
    gpu->since_s = since_s;
    snprintf(gpu->why, sizeof gpu->why, "%s", why);
    text_clean(gpu->why);
    return true;
}

json_t *throttled_json(const struct throttle_gpu *gpu)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s}", "record", "throttle", "at", gpu->at, "runs",
                     (json_int_t)gpu->runs, "count", (json_int_t)gpu->count, "since_s",
                     (json_int_t)gpu->since_s, "why", gpu->why);
}
