/* libFuzzer target: the first byte chooses a call of libberth, the rest is the reply's parameters.
 * Whatever they are: the answer can be read to the end, or the call fails, gives nothing and leaves
 * nothing. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/berth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REPLY_MAX 65536 /* bytes that a socket takes without a reader */

static size_t length(const char *text) { return text == NULL ? 0 : strlen(text); }

static size_t read_texts(const struct berth_texts *texts)
{
    size_t sum = 0;
    for (size_t i = 0; i < texts->count; i++)
        sum += strlen(texts->item[i]);
    return sum;
}

static size_t read_reasons(const struct berth_reasons *reasons)
{
    size_t sum = 0;
    for (size_t i = 0; i < reasons->count; i++) {
        const struct berth_reason *reason = &reasons->item[i];
        sum += strlen(reason->code) + strlen(reason->text) + read_texts(&reason->subjects);
        for (size_t n = 0; n < reason->number_count; n++)
            sum += strlen(reason->numbers[n].name) + (reason->numbers[n].value > 0);
    }
    return sum;
}

static int bind_tasks(struct berth *berth)
{
    struct berth_bind_request request;
    struct berth_binding *binding = NULL;
    berth_bind_request_init(&request);
    request.tasks = 1;
    request.whole_node = 1;
    int status = berth_bind(berth, &request, &binding);
    for (size_t i = 0; binding != NULL && i < binding->task_count; i++)
        if (read_texts(&binding->tasks[i].gpus) + strlen(binding->tasks[i].cpus) == SIZE_MAX)
            abort();
    berth_binding_free(binding);
    return status;
}

static int route(struct berth *berth)
{
    const struct berth_route_request request = {
        .from = "gpu0", .to = "gpu1", .bytes = 1, .whole_node = 1};
    struct berth_routes *routes = NULL;
    int status = berth_route(berth, &request, &routes);
    for (size_t i = 0; routes != NULL && i < routes->crossover_count; i++)
        if (length(routes->options[routes->crossovers[i].below].call) +
                length(routes->options[routes->crossovers[i].above].call) ==
            SIZE_MAX)
            abort();
    if (routes != NULL &&
        read_reasons(&routes->reasons) + read_reasons(&routes->warnings) == SIZE_MAX)
        abort();
    berth_routes_free(routes);
    return status;
}

static int check_node(struct berth *berth)
{
    struct berth_health *health = NULL;
    int status = berth_check(berth, NULL, 0, &health);
    for (size_t i = 0; health != NULL && i < health->finding_count; i++)
        for (size_t n = 0; n < health->findings[i].slow_count; n++)
            if (strlen(health->findings[i].slow[n].series) == SIZE_MAX)
                abort();
    berth_health_free(health);
    return status;
}

static int get_node(struct berth *berth)
{
    struct berth_node *node = NULL;
    int status = berth_get_node(berth, &node);
    for (size_t i = 0; node != NULL && i < node->place_count; i++)
        for (size_t n = 0; n < node->places[i].details.count; n++)
            if (strlen(node->places[i].details.item[n].value) == SIZE_MAX)
                abort();
    berth_node_free(node);
    return status;
}

static int get_curves(struct berth *berth)
{
    const struct berth_curves_request request = {.metric = "m"};
    struct berth_curves *curves = NULL;
    int status = berth_get_curves(berth, &request, &curves);
    berth_curves_free(curves);
    return status;
}

static int get_tuning(struct berth *berth)
{
    const struct berth_tuning_request request = {0};
    struct berth_tunings *tunings = NULL;
    int status = berth_get_tuning(berth, &request, &tunings);
    for (size_t i = 0; tunings != NULL && i < tunings->tuning_count; i++)
        if (length(tunings->tunings[i].grid.why_not) == SIZE_MAX)
            abort();
    berth_tunings_free(tunings);
    return status;
}

static int list_claims(struct berth *berth)
{
    struct berth_claims *claims = NULL;
    int status = berth_list_claims(berth, &claims);
    for (size_t i = 0; claims != NULL && i < claims->claim_count; i++)
        if (read_texts(&claims->claims[i].places) == SIZE_MAX)
            abort();
    berth_claims_free(claims);
    return status;
}

static int get_contention(struct berth *berth)
{
    struct berth_contention *contention = NULL;
    int status = berth_get_contention(berth, NULL, &contention);
    berth_contention_free(contention);
    return status;
}

static int (*const calls[])(struct berth *berth) = {
    bind_tasks, route, check_node, get_node, get_curves, get_tuning, list_claims, get_contention};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char before[] = "{\"parameters\":";
    int fds[2];
    if (size < 1 || size > REPLY_MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        return 0;
    struct berth *berth = berth_new();
    if (berth == NULL || berth_connect_fd(berth, fds[0]) < 0 ||
        write(fds[1], before, sizeof before - 1) < 0 || write(fds[1], data + 1, size - 1) < 0 ||
        write(fds[1], "}", 2) < 0)
        abort();
    shutdown(fds[1], SHUT_WR);
    int status = calls[data[0] % (sizeof calls / sizeof *calls)](berth);
    if (status > 0 || (status < 0 && berth_error_detail(berth)[0] == '\0'))
        abort();
    berth_free(berth);
    close(fds[1]);
    return 0;
}
