#include "node/transfer.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/values.h"

static const struct {
    const char *name, *key;
} clocks[] = {
    [TRANSFER_CALL] = {"call", "t0_call_ns"},       [TRANSFER_QUEUE] = {"queue", "t0_queue_ns"},
    [TRANSFER_CHAIN] = {"chain", "t0_chain_ns"},    [TRANSFER_BEHIND] = {"behind", "t0_behind_ns"},
    [TRANSFER_LAUNCH] = {"launch", "t0_launch_ns"}, [TRANSFER_END] = {"end", "t0_end_ns"}};

const char *transfer_clock_name(enum transfer_clock clock) { return clocks[clock].name; }
const char *transfer_clock_key(enum transfer_clock clock) { return clocks[clock].key; }

bool transfer_is(enum metric metric)
{
    char standard[8];
    const char *bytes = metric_axis_default(metric, "bytes", standard, sizeof standard);
    return bytes != NULL && strcmp(bytes, "large") == 0 &&
           strcmp(metric_info(metric)->unit, "bytes_per_s") == 0;
}

int64_t transfer_split(const char *axes, char *ret_rest, size_t size)
{
    static const char key[] = "bytes=";
    const char *at = axes;
    while (*at != '\0' && strncmp(at, key, sizeof key - 1) != 0) {
        at += strcspn(at, ";");
        at += *at == ';';
    }
    if (*at == '\0') {
        snprintf(ret_rest, size, "%s", axes);
        return 0;
    }
    const char *number = at + sizeof key - 1, *after = at + strcspn(at, ";");
    /* without the semicolon at the end of the rest */
    int before = (int)(at - axes) - (at > axes && *after == '\0');
    snprintf(ret_rest, size, "%.*s%s", before, axes, *after == ';' ? after + 1 : after);
    char *end;
    errno = 0;
    long long bytes = isdigit((unsigned char)*number) ? strtoll(number, &end, 10) : 0;
    return bytes > 0 && errno == 0 && end == after ? bytes : 0;
}

void transfer_overhead_axes(enum metric metric, const char *axes, enum transfer_clock clock,
                            char *ret_axes, size_t size)
{
    char keys[8][48], values[8][48];
    const char *text[2 * (8 + 2)] = {"metric", metric_info(metric)->name, "clock",
                                     transfer_clock_name(clock)};
    size_t count = 2;
    for (const char *c = metric_info(metric)->axes; *c != '\0' && count < 10;
         c += strcspn(c, ","), c += *c == ',') {
        size_t n = count - 2;
        snprintf(keys[n], sizeof keys[n], "%.*s", (int)strcspn(c, "=,"), c);
        if (strcmp(keys[n], "bytes") == 0)
            continue;
        text[2 * count] = keys[n];
        text[2 * count + 1] = axes_get(metric, axes, keys[n], values[n], sizeof values[n]);
        count++;
    }
    /* Every axis of a transfer is one of transfer_overhead's, in the table; a test verifies it. */
    enum berth_code code =
        axes_canonical(METRIC_TRANSFER_OVERHEAD, text, count, ret_axes, size, NULL);
    assert(code == BERTH_OK);
    (void)code;
}

static const struct {
    unsigned kind;
    enum metric alone, concurrent;
} kinds[] = {
    {TRANSFER_HOST_ENGINE, METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT},
    {TRANSFER_HOST_KERNEL, METRIC_HOST_GPU_KERNEL, METRIC_HOST_GPU_KERNEL_CONCURRENT},
    {TRANSFER_PEER_ENGINE, METRIC_GPU_GPU_COPY_ENGINE, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT},
    {TRANSFER_PEER_KERNEL, METRIC_GPU_GPU_KERNEL, METRIC_GPU_GPU_KERNEL_CONCURRENT}};

unsigned transfer_kind_index(unsigned kind)
{
    unsigned index = 0;
    while (index + 1 < TRANSFER_KINDS && kind != 1u << index)
        index++;
    return index;
}

unsigned transfer_kind_of(enum metric metric)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].alone == metric || kinds[i].concurrent == metric)
            return kinds[i].kind;
    return 0;
}

bool transfer_alone_metric(enum metric concurrent, enum metric *ret)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].concurrent == concurrent) {
            *ret = kinds[i].alone;
            return true;
        }
    return false;
}
