#include "serve/report_kind.h"

#include <stdio.h>
#include <string.h>

#include "plan/alloc/alloc.h"
#include "plan/bind/bind.h"
#include "plan/route/route.h"

#define FORM_BITS  10
#define USERS_BITS 5
#define SIZE_BITS  5
#define COPY_BYS   3 /* enum copy_by */
#define SOURCES    (SOURCE_LOWER_BOUND + 1)

/* Bits of the form. The first two or three are a number: the pattern, the option, the memory. */
enum {
    BIND_PATTERN = 7,
    BIND_PEERS = 8, /* tasks exchange bytes */
    BIND_HOST = 16,
    BIND_AWAY = 32,
    BIND_GPUS = 64,
    BIND_SEVERAL = 128, /* gpus of a task */
    BIND_BY = 256,      /* one of COPY_BYS mechanisms, times this */
    ROUTE_FORM = 3,
    ROUTE_FROM_GPU = 4,
    ROUTE_TO_GPU = 8,
    ROUTE_BOTH = 16,
    ALLOC_MEMORY = 3,
    ALLOC_OF_CORES = 4,
    ALLOC_OF_GPUS = 8,
    ALLOC_STREAM = 16,
    ALLOC_RANDOM = 32
};

static const char *const methods[REPORT_METHODS] = {"bind", "route", "allocate"};
static const char *const patterns[] = {"none",   "pairs",    "ring",     "grid2d",
                                       "grid3d", "alltoall", "allreduce"};
static const char *const mechanisms[COPY_BYS] = {"best", "copy engine", "kernel"};
static const char *const forms[] = {"copy engine", "kernel", "through a memory", "split"};

static unsigned log2_of(uint64_t number)
{
    unsigned log = 0;
    while (number >>= 1)
        log++;
    return log;
}

static struct report_kind kind_of(enum report_method method, unsigned form, uint64_t users,
                                  int64_t bytes)
{
    unsigned log = log2_of(users), most = (1u << USERS_BITS) - 1;
    return (struct report_kind){.method = method,
                                .form = form,
                                .users = log < most ? log : most,
                                .size = log2_of((uint64_t)bytes) / 2,
                                .bytes = bytes};
}

struct report_kind report_kind_bind(const struct bind_request *request,
                                    enum traffic_pattern pattern, int64_t gpus_per_task)
{
    const struct traffic *traffic = request->traffic;
    unsigned form = (unsigned)pattern | (unsigned)request->by * BIND_BY;
    form |= gpus_per_task > 0 ? BIND_GPUS : 0;
    form |= gpus_per_task > 1 ? BIND_SEVERAL : 0;
    double most = 0;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct traffic_flow *flow = &traffic->flow[i];
        bool is_host = flow->from == TRAFFIC_HOST || flow->to == TRAFFIC_HOST,
             is_away = flow->from == TRAFFIC_AWAY || flow->to == TRAFFIC_AWAY;
        form |= is_host ? BIND_HOST : is_away ? BIND_AWAY : BIND_PEERS;
        most = flow->bytes > most ? flow->bytes : most;
    }
    return kind_of(REPORT_BIND, form, (uint64_t)request->tasks,
                   most < TRAFFIC_BYTES_MAX ? (int64_t)most : TRAFFIC_BYTES_MAX);
}

struct report_kind report_kind_route(const struct graph *graph, const struct route_request *request,
                                     const struct route_option *option)
{
    unsigned form = option->part_count > 1          ? 3
                    : option->part[0].hop_count > 1 ? 2
                                                    : option->part[0].hop[0].by == MECHANISM_KERNEL;
    form |= graph_place(graph, request->from)->kind == PLACE_GPU ? ROUTE_FROM_GPU : 0;
    form |= graph_place(graph, request->to)->kind == PLACE_GPU ? ROUTE_TO_GPU : 0;
    form |= request->both ? ROUTE_BOTH : 0;
    return kind_of(REPORT_ROUTE, form, 1 + request->concurrent_count, request->bytes);
}

struct report_kind report_kind_alloc(const struct alloc_request *request, enum memkind kind,
                                     const struct graph *graph)
{
    unsigned form = (unsigned)kind;
    for (size_t i = 0; i < request->access_count; i++) {
        const struct alloc_access *access = &request->access[i];
        bool is_gpu = access->by != PLACE_NONE && graph_place(graph, access->by)->kind == PLACE_GPU;
        form |= is_gpu ? ALLOC_OF_GPUS : ALLOC_OF_CORES;
        form |= access->random ? ALLOC_RANDOM : ALLOC_STREAM;
    }
    if (request->access_count == 0)
        form |= ALLOC_OF_CORES | ALLOC_STREAM;
    return kind_of(REPORT_ALLOCATE, form, request->access_count, request->bytes);
}

uint32_t report_kind_pack(const struct report_kind *kind)
{
    uint32_t number = (uint32_t)kind->method;
    number = number << FORM_BITS | kind->form;
    number = number << USERS_BITS | kind->users;
    number = number << SIZE_BITS | kind->size;
    return number * SOURCES + (uint32_t)kind->source;
}

static unsigned take_bits(uint32_t *number, unsigned bits)
{
    unsigned taken = *number & ((1u << bits) - 1);
    *number >>= bits;
    return taken;
}

bool report_kind_unpack(uint32_t number, struct report_kind *ret)
{
    struct report_kind kind = {.source = (enum source)(number % SOURCES)};
    number /= SOURCES;
    kind.size = take_bits(&number, SIZE_BITS);
    kind.users = take_bits(&number, USERS_BITS);
    kind.form = take_bits(&number, FORM_BITS);
    kind.method = (enum report_method)number;
    *ret = kind;
    return number < REPORT_METHODS &&
           (kind.method != REPORT_BIND ||
            ((kind.form & BIND_PATTERN) <= TRAFFIC_ALLREDUCE && kind.form / BIND_BY < COPY_BYS));
}

const char *report_kind_method(const struct report_kind *kind) { return methods[kind->method]; }

static void add(char text[REPORT_KIND_SIZE], bool is_so, const char *word)
{
    size_t used = strlen(text);
    if (is_so)
        snprintf(text + used, REPORT_KIND_SIZE - used, "%s%s", used > 0 ? ", " : "", word);
}

const char *report_kind_text(const struct report_kind *kind, char text[REPORT_KIND_SIZE])
{
    unsigned form = kind->form;
    text[0] = '\0';
    switch (kind->method) {
    case REPORT_BIND:
        add(text, (form & BIND_PATTERN) != TRAFFIC_NONE, patterns[form & BIND_PATTERN]);
        add(text, (form & BIND_PATTERN) == TRAFFIC_NONE && (form & BIND_PEERS), "flows");
        add(text, form & BIND_HOST, "host");
        add(text, form & BIND_AWAY, "other nodes");
        add(text, !(form & BIND_GPUS), "cores");
        add(text, form & BIND_GPUS, form & BIND_SEVERAL ? "several gpus" : "gpus");
        add(text, form & BIND_GPUS && form / BIND_BY > 0, mechanisms[form / BIND_BY]);
        break;
    case REPORT_ROUTE:
        add(text, true, form & ROUTE_FROM_GPU ? "from gpu" : "from host");
        add(text, true, form & ROUTE_TO_GPU ? "to gpu" : "to host");
        add(text, true, forms[form & ROUTE_FORM]);
        add(text, form & ROUTE_BOTH, "both ways");
        break;
    case REPORT_ALLOCATE:
    case REPORT_METHODS:
        add(text, true, memkind_names[form & ALLOC_MEMORY]);
        add(text, form & ALLOC_OF_CORES, "cores");
        add(text, form & ALLOC_OF_GPUS, "gpus");
        add(text, form & ALLOC_STREAM, "stream");
        add(text, form & ALLOC_RANDOM, "random");
        break;
    }
    return text;
}
