/* The command line of a probe: options from a table, and the kinds of arguments that probes share.
 * Messages go to standard error, one line each. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric.h"

#define PROBE_OPTIONS_USAGE 64 /* exit status after a wrong command line */

/* Keys are from PROBE_OPTIONS_KEY on. */
#define PROBE_OPTIONS_KEY 256

struct probe_option {
    const char *name;     /* without dashes */
    const char *argument; /* name of the argument in the help; NULL: takes none */
    const char *about;
    int key;
};

struct probe_options {
    const char *program; /* "berth-probe-cpu" */
    const char *about;   /* one line for the help */
    const struct probe_option *list;
    size_t count;
    const enum probe_metric *metrics; /* metrics that the probe measures */
    size_t metric_count;
    const char *(*built)(void); /* gives a second line for --version; NULL: there is none */
};

/* Takes one option with its argument; -1 to go on, else the exit status. */
typedef int (*probe_options_take)(int key, char *text, void *arg);

/* Takes all options in order. --help (also -h) and --version are options of every probe and are not
 * in the list. Returns -1 to go on, else the exit status. */
int probe_options_parse(const struct probe_options *options, int argc, char **argv,
                        probe_options_take take, void *arg);

/* Prints the error; text may be NULL. Returns PROBE_OPTIONS_USAGE. */
int probe_options_usage(const struct probe_options *options, const char *what, const char *text);

bool probe_options_integer(const char *text, int64_t min, int64_t *ret_number);

/* Reads "a,b" and sets these of PROBE_METRIC_COUNT metrics, of any probe. Cuts the list up. Returns
 * -1 to go on, else the exit status: a name is no metric at all. */
int probe_options_metrics(const struct probe_options *options, char *list, bool *ret_metrics);

/* Completes the metrics once all options are taken. Every metric of a person's list must be one of
 * this probe. A program that started this one may name those of other probes as well. An empty list
 * sets all metrics of this probe. Returns -1 to go on, else the exit status. */
int probe_options_settle_metrics(const struct probe_options *options, bool by_program,
                                 bool *metrics);

/* Reads "a,b": appends 1 to room names, which stay in the list that this cuts up. False when there
 * are more, or none. */
bool probe_options_names(char *list, size_t room, const char **names, size_t *count);
