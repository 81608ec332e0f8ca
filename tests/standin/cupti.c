/*
 * A stand-in for libcupti.so.13, for tests: PC sampling over the virtual node's time. A range of
 * sampling has a sample for each microsecond between its start and its stop, split by weights:
 * BERTH_STANDIN_CUPTI_STALLS, "long_scoreboard=80,drain=5,selected=15". They come by two
 * instructions, one a call. It refuses what the real one refuses: calls before the context is
 * enabled, a range within a range, sizes of other structures. BERTH_STANDIN_CUPTI_FAIL names a call
 * that fails, and the code: "enable=35"; "endless=1": samples never end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))
#define MOST   16

enum { OK = 0, INVALID_PARAMETER = 1, INVALID_OPERATION = 7 };
enum { REASONS = 2, MODE = 5, START_STOP = 6, FORMAT = 7, BUFFER = 8 };

struct params {
    size_t size;
    void *none, *context;
    union {
        size_t *count;
        void *data;
        struct {
            size_t count;
            void *first;
            char **name;
        } list;
    };
};

#define SIZE_PLAIN (offsetof(struct params, count))

struct stall {
    uint32_t reason, samples;
};

struct instruction {
    size_t size;
    uint64_t cubin, offset;
    uint32_t function, unused;
    char *name;
    size_t stall_count;
    struct stall *stall;
    uint32_t launch;
};

struct data {
    size_t size, most;
    uint64_t samples, dropped;
    size_t count, remaining;
    uint64_t range;
    struct instruction *instruction;
    uint64_t other_samples;
    uint8_t is_full;
};

struct setting {
    uint32_t attribute;
    int status;
    union {
        uint64_t room[3];
        uint32_t number;
        struct data *data;
        struct {
            size_t count;
            uint32_t *index;
        } reasons;
    };
};

static struct {
    void *context;
    struct data *buffer;
    unsigned configured;  /* bits of attributes */
    int is_ranging, left; /* instructions not fetched */
    int64_t start_ns, ns;
    size_t count;
    struct {
        char name[32];
        unsigned weight;
    } reason[MOST];
} sampler;

PUBLIC const int berth_standin = 1;

static int fails(const char *call)
{
    const char *fail = getenv("BERTH_STANDIN_CUPTI_FAIL");
    size_t length = strlen(call);
    return fail != NULL && strncmp(fail, call, length) == 0 && fail[length] == '='
               ? atoi(fail + length + 1)
               : OK;
}

static void read_reasons(void)
{
    const char *text = getenv("BERTH_STANDIN_CUPTI_STALLS");
    sampler.count = 0;
    for (; text != NULL && *text != '\0' && sampler.count < MOST; sampler.count++) {
        int end = 0;
        if (sscanf(text, "%31[a-z_]=%u%n", sampler.reason[sampler.count].name,
                   &sampler.reason[sampler.count].weight, &end) != 2)
            abort();
        text += end + (text[end] == ',');
    }
}

/* The code of a call: a planned failure, another structure, or a context that is not enabled. */
static int check(const char *call, const struct params *params, size_t size, int needs_context)
{
    int code = fails(call);
    if (code != OK)
        return code;
    if (params->size != size || params->none != NULL || params->context == NULL)
        return INVALID_PARAMETER;
    return needs_context && params->context != sampler.context ? INVALID_OPERATION : OK;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

PUBLIC int cuptiGetResultString(int code, const char **text);
int cuptiGetResultString(int code, const char **text)
{
    *text = code == INVALID_PARAMETER   ? "CUPTI_ERROR_INVALID_PARAMETER"
            : code == INVALID_OPERATION ? "CUPTI_ERROR_INVALID_OPERATION"
                                        : "CUPTI_ERROR_UNKNOWN";
    return OK;
}

PUBLIC int cuptiPCSamplingEnable(struct params *params);
int cuptiPCSamplingEnable(struct params *params)
{
    int code = check("enable", params, SIZE_PLAIN, 0);
    if (code == OK && sampler.context != NULL)
        return INVALID_OPERATION;
    if (code == OK)
        sampler.context = params->context;
    read_reasons();
    return code;
}

PUBLIC int cuptiPCSamplingDisable(struct params *params);
int cuptiPCSamplingDisable(struct params *params)
{
    int code = check("disable", params, SIZE_PLAIN, 1);
    if (code == OK)
        sampler.context = NULL;
    return code;
}

PUBLIC int cuptiPCSamplingGetNumStallReasons(struct params *params);
int cuptiPCSamplingGetNumStallReasons(struct params *params)
{
    int code = check("count", params, SIZE_PLAIN + sizeof params->count, 1);
    if (code == OK)
        *params->count = 2 * sampler.count;
    return code;
}

/* Each reason has a second one, the part of it in which nothing was issued. */
PUBLIC int cuptiPCSamplingGetStallReasons(struct params *params);
int cuptiPCSamplingGetStallReasons(struct params *params)
{
    int code = check("names", params, SIZE_PLAIN + sizeof params->list, 1);
    uint32_t *index = code == OK ? params->list.first : NULL;
    if (code == OK && params->list.count != 2 * sampler.count)
        return INVALID_PARAMETER;
    for (size_t i = 0; code == OK && i < params->list.count; i++) {
        index[i] = (uint32_t)(10 + 3 * i);
        snprintf(params->list.name[i], 128, "smsp__pcsamp_warps_issue_stalled_%s%s",
                 sampler.reason[i / 2].name, i % 2 == 1 ? "_not_issued" : "");
    }
    return code;
}

PUBLIC int cuptiPCSamplingSetConfigurationAttribute(struct params *params);
int cuptiPCSamplingSetConfigurationAttribute(struct params *params)
{
    int code =
        check("set", params, SIZE_PLAIN + offsetof(struct params, list.name) - SIZE_PLAIN, 1);
    struct setting *setting = code == OK ? params->list.first : NULL;
    for (size_t i = 0; code == OK && i < params->list.count; i++) {
        int is_right =
            setting[i].attribute == REASONS  ? setting[i].reasons.count == 2 * sampler.count
            : setting[i].attribute == BUFFER ? setting[i].data->size == sizeof(struct data)
                                             : setting[i].number == 1;
        if (!is_right)
            return INVALID_OPERATION;
        sampler.configured |= 1u << setting[i].attribute;
        if (setting[i].attribute == BUFFER)
            sampler.buffer = setting[i].data;
    }
    return code;
}

PUBLIC int cuptiPCSamplingStart(struct params *params);
int cuptiPCSamplingStart(struct params *params)
{
    unsigned all = 1u << REASONS | 1u << MODE | 1u << START_STOP | 1u << FORMAT | 1u << BUFFER;
    int code = check("start", params, SIZE_PLAIN, 1);
    if (code == OK && (sampler.is_ranging || sampler.left > 0 || sampler.configured != all))
        return INVALID_OPERATION;
    if (code == OK) {
        sampler.is_ranging = 1;
        sampler.start_ns = now_ns();
    }
    return code;
}

PUBLIC int cuptiPCSamplingStop(struct params *params);
int cuptiPCSamplingStop(struct params *params)
{
    int code = check("stop", params, SIZE_PLAIN, 1);
    if (code == OK && !sampler.is_ranging)
        return INVALID_OPERATION;
    if (code == OK) {
        sampler.is_ranging = 0;
        sampler.ns = now_ns() - sampler.start_ns;
        sampler.left = 2;
    }
    return code;
}

PUBLIC int cuptiPCSamplingGetData(struct params *params);
int cuptiPCSamplingGetData(struct params *params)
{
    int code = check("get", params, SIZE_PLAIN + sizeof params->data, 1);
    struct data *data = params->data;
    if (code != OK)
        return code;
    if (data->size != sizeof *data || data->most != 1 || sampler.is_ranging)
        return INVALID_PARAMETER;
    data->count = sampler.left > 0;
    if (sampler.left == 0)
        return OK;
    struct instruction *instruction = data->instruction;
    unsigned sum = 0;
    instruction->stall_count = 0;
    for (size_t i = 0; i < sampler.count; i++)
        sum += sampler.reason[i].weight;
    for (size_t i = 0; i < 2 * sampler.count; i++) {
        int64_t samples = sampler.ns / 2000 * sampler.reason[i / 2].weight / (sum > 0 ? sum : 1);
        instruction->stall[instruction->stall_count++] =
            (struct stall){(uint32_t)(10 + 3 * i), (uint32_t)(i % 2 == 1 ? samples / 2 : samples)};
        data->samples += i % 2 == 0 ? (uint64_t)samples : 0;
    }
    data->dropped = sampler.left == 2 ? 3 : 0;
    data->remaining = (size_t)(sampler.left -= !fails("endless"));
    return OK;
}
