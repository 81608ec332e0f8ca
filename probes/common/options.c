#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 32

enum { OPT_HELP = PROBE_OPTIONS_KEY - 2, OPT_VERSION };

static const struct probe_option common[] = {
    {"help", NULL, "print this (also -h)", OPT_HELP},
    {"version", NULL, "print the version", OPT_VERSION},
};
#define COMMON_COUNT (sizeof common / sizeof *common)

static const struct probe_option *option_at(const struct probe_options *options, size_t i)
{
    return i < options->count ? &options->list[i] : &common[i - options->count];
}

static void print_help(const struct probe_options *options)
{
    printf("Usage: %s [options]\n\n%s\n\n", options->program, options->about);
    for (size_t i = 0; i < options->count + COMMON_COUNT; i++) {
        const struct probe_option *option = option_at(options, i);
        printf("  --%-9s %-11s %s\n", option->name, option->argument ? option->argument : "",
               option->about);
    }
}

int probe_options_usage(const struct probe_options *options, const char *what, const char *text)
{
    fprintf(stderr, "%s: %s%s%s; see --help\n", options->program, what, text ? ": " : "",
            text ? text : "");
    return PROBE_OPTIONS_USAGE;
}

static int take_one(const struct probe_options *options, int key, char *text,
                    probe_options_take take, void *arg)
{
    switch (key) {
    case 'h':
    case OPT_HELP:
        print_help(options);
        return 0;
    case OPT_VERSION:
        printf("%s %s\n", options->program, BERTH_VERSION);
        if (options->built != NULL)
            printf("%s\n", options->built());
        return 0;
    case ':':
        return probe_options_usage(options, "an argument is missing after", text);
    case '?':
        return probe_options_usage(
            options, optopt >= OPT_HELP ? "this option takes no argument" : "unknown option", text);
    default:
        return take(key, text, arg);
    }
}

int probe_options_parse(const struct probe_options *options, int argc, char **argv,
                        probe_options_take take, void *arg)
{
    struct option list[LIST_MAX + 1] = {0};
    size_t count = options->count + COMMON_COUNT;
    for (size_t i = 0; i < count && i < LIST_MAX; i++) {
        const struct probe_option *option = option_at(options, i);
        list[i] = (struct option){option->name, option->argument ? required_argument : no_argument,
                                  NULL, option->key};
    }
    opterr = 0;
    for (int at = optind, key; (key = getopt_long(argc, argv, "+:h", list, NULL)) != -1;
         at = optind) {
        int status =
            take_one(options, key, key == '?' || key == ':' ? argv[at] : optarg, take, arg);
        if (status >= 0)
            return status;
    }
    return optind < argc ? probe_options_usage(options, "what is", argv[optind]) : -1;
}

bool probe_options_integer(const char *text, int64_t min, int64_t *ret_number)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < min)
        return false;
    *ret_number = number;
    return true;
}

/* Appends the probe's metrics to the error message. */
static int refuse_metric(const struct probe_options *options, const char *what, const char *name)
{
    fprintf(stderr, "%s: %s: %s; there are", options->program, what, name);
    for (size_t i = 0; i < options->metric_count; i++)
        fprintf(stderr, "%s %s", i > 0 ? "," : "", probe_metric_name(options->metrics[i]));
    fprintf(stderr, "\n");
    return PROBE_OPTIONS_USAGE;
}

int probe_options_metrics(const struct probe_options *options, char *list, bool *ret_metrics)
{
    char *save = NULL;
    bool any = false;
    for (char *name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        bool found = false;
        for (int i = 0; i < PROBE_METRIC_COUNT; i++)
            if (strcmp(name, probe_metric_name((enum probe_metric)i)) == 0)
                ret_metrics[i] = found = any = true;
        if (!found)
            return refuse_metric(options, "no such metric", name);
    }
    return any ? -1 : probe_options_usage(options, "--metrics takes at least one name", NULL);
}

int probe_options_settle_metrics(const struct probe_options *options, bool by_program,
                                 bool *metrics)
{
    bool any = false;
    for (int i = 0; i < PROBE_METRIC_COUNT; i++) {
        bool its_own = false;
        for (size_t k = 0; k < options->metric_count; k++)
            its_own |= options->metrics[k] == (enum probe_metric)i;
        if (metrics[i] && !its_own && !by_program)
            return refuse_metric(options, "this probe does not measure",
                                 probe_metric_name((enum probe_metric)i));
        any |= metrics[i];
    }
    for (size_t k = 0; !any && k < options->metric_count; k++)
        metrics[options->metrics[k]] = true;
    return -1;
}

bool probe_options_names(char *list, size_t room, const char **names, size_t *count)
{
    char *save = NULL;
    for (char *name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        if (*count == room)
            return false;
        names[(*count)++] = name;
    }
    return *count > 0;
}
