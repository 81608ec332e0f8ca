/**
 * The daemon's configuration: defaults, then a file of "key = value" lines, then the command line.
 * Every key stands once in the table in base/config.c, with its type, its range and its meaning.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct config {
    char *socket;       /* path of the Unix socket */
    char *socket_group; /* NULL: unchanged */
    char *admin_group;  /* may probe and accept baselines; NULL: root and the daemon's user alone */
    char *hwloc_file;   /* kept for tasks; no /: beside the socket; NULL: none */
    char *state_dir;    /* folder of berth.db; NULL: keep nothing */
    char *baseline;     /* folder of baseline files; NULL: none */
    int64_t store_journal; /* enum store_journal */
    int64_t history_days;
    int64_t daily_years;
    /* folder of berth-probe-cpu; NULL: beside berthd, then the installed place */
    char *probe_dir;
    char *node; /* node folder to serve instead of this machine; NULL: this machine */
    int64_t socket_mode;
    bool probe_at_start;
    int64_t quick_budget_ms;
    int64_t gpu_quick_budget_ms; /* after the driver has started */
    int64_t gpu_retry_s;         /* between checks of gpus that were in use; 0: none */
    char *events_file;           /* of berth-probe-events; NULL: none */
    int64_t counters_s;          /* between readings of error counters; 0: none but the first */
    double duty_percent;         /* of measuring old values again; 0: never */
    int64_t freshness_s;         /* age of an old value */
    bool measure_beside_jobs;    /* old values of GPUs that nobody uses */
    int64_t full_budget_s;
    int64_t claim_ttl_max_s;
    int64_t claim_ttl_user_max_s; /* for claims of ordinary users without an owner */
    int64_t claims_per_user;
    int64_t claims_in_all;
    int64_t waiting_claims_per_user, waiting_claims_in_all; /* for profiling */
    int64_t claim_resume_s;                                 /* after the last claim ended */
    int64_t probe_silence_s; /* a probe silent for this long is hung */
    int64_t drift_mads;      /* this and the next seven: health/limits.h */
    int64_t drift_bandwidth_percent, drift_latency_percent, drift_pingpong_percent;
    int64_t peers_bandwidth_percent, peers_latency_percent, peers_pingpong_percent;
    int64_t nominal_percent;
    int64_t max_message_bytes;
    int64_t max_unsent_bytes;
    int64_t max_unsent_bytes_per_user;
    int64_t max_unsent_bytes_in_all;
    int64_t max_input_bytes_per_user;
    int64_t max_input_bytes_in_all;
    int64_t max_large_calls_per_user;
    int64_t max_connections;
    int64_t max_connections_per_user;
    int64_t max_queued_calls;
    int64_t idle_timeout_s;
    int64_t unread_timeout_s;
    int64_t half_message_timeout_s;
};

/* Sets all keys to their defaults; state_dir comes from $STATE_DIRECTORY when the service manager
 * made one. Fails with NO_MEMORY. */
enum berth_code config_init(struct config *ret_config, struct berth_err *err);
void config_done(struct config *config);

/* Reads a file over config. Fails with BAD_CONFIG, which names the file, the line and the error.
 * Errors are an unknown key (with the nearest known one), a value of the wrong type or out of
 * range, and a key given twice. On failure config is unchanged. */
enum berth_code config_read(struct config *config, const char *path, struct berth_err *err);

/* Sets one key as a line of the file would. */
enum berth_code config_set(struct config *config, const char *key, const char *value,
                           struct berth_err *err);

/* Prints every key with its present value and meaning, in the format of the file. */
void config_print(const struct config *config, FILE *file);
