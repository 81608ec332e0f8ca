/* Export as a feature file of Kubernetes' Node Feature Discovery: labels of the node. */
#include "export/formats.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "export/pairs.h"
#include "export/text.h"

#define LABEL_SIZE (63 + 1)
#define VALID_S    900

/* Makes a label's value of any text: letters, digits, - _ . and at both ends a letter or digit. */
static void label_of(char label[LABEL_SIZE], const char *text)
{
    size_t length = 0;
    for (; text != NULL && *text != '\0' && length < LABEL_SIZE - 1; text++) {
        bool is_plain = isalnum((unsigned char)*text) && (unsigned char)*text < 0x80;
        if (is_plain || length > 0)
            label[length++] = (char)(is_plain || strchr("-_.", *text) != NULL ? *text : '-');
    }
    while (length > 0 && !isalnum((unsigned char)label[length - 1]))
        length--;
    label[length] = '\0';
}

static void put(struct print *text, const char *name, const char *value)
{
    char label[LABEL_SIZE];
    label_of(label, value);
    if (label[0] != '\0')
        export_text(text, "berth.io/%s=%s\n", name, label);
}

static void put_gpus(const struct graph *graph, const struct export_pairs *pairs,
                     struct print *text)
{
    const char *model = NULL;
    export_text(text, "berth.io/gpus=%zu\n", pairs->count);
    for (size_t i = 0; i < pairs->count; i++) {
        const char *its = graph->places[pairs->gpu[i]].model;
        bool is_same = i == 0 || (model != NULL && its != NULL && strcmp(model, its) == 0);
        model = is_same ? its : "mixed";
    }
    put(text, "gpu-model", model);
}

static void put_slowest(const struct graph *graph, const struct export_pairs *pairs,
                        struct print *text)
{
    char names[LABEL_SIZE];
    size_t a, b;
    if (!export_pairs_slowest(pairs, EXPORT_PAIRS_ANY, &a, &b))
        return;
    double slowest = pairs->rate[a * pairs->count + b];
    /* one class: the slowest of equals would change with each measurement */
    if (export_pairs_class(pairs, (double)INFINITY) > slowest) {
        snprintf(names, sizeof names, "%s.%s", graph->places[pairs->gpu[a]].name,
                 graph->places[pairs->gpu[b]].name);
        put(text, "slowest-pair", names);
    }
    export_text(text, "berth.io/slowest-pair-gbps=%lld\n", (long long)(slowest / 1e9));
    put(text, "slowest-pair-source", pairs->is_measured ? "measured" : "published");
}

bool export_nfd(const struct export_input *input, struct print *text)
{
    const struct graph *graph = input->snap->graph;
    struct export_pairs pairs;
    char when[32], hardware[9];
    time_t end = (time_t)input->now_s + VALID_S;
    struct tm utc;
    bool ok = export_pairs_init(&pairs, input->snap);
    if (ok) {
        export_text_head(text, input->snap, "# ", "");
        if (gmtime_r(&end, &utc) != NULL &&
            strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
            export_text(text, "# +expiry-time=%s\n", when);
        snprintf(hardware, sizeof hardware, "%.8s", graph->fingerprint);
        put(text, "hardware", hardware);
        put(text, "origin", origin_name(snapshot_origin(input->snap)));
        put(text, "verdict", assessment_verdict_name(input->assessment->verdict));
        put(text, "drain", input->assessment->drain ? "true" : "false");
        put_gpus(graph, &pairs, text);
        put_slowest(graph, &pairs, text);
    }
    export_pairs_done(&pairs);
    return ok;
}
