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
    char *socket_group; /* NULL: leave */
    char *admin_group;  /* may probe and accept baselines; NULL: root and the daemon's user alone */
    char *state_dir;    /* where berth.db is; NULL: keep nothing */
    char *baseline;     /* a folder of baseline files; NULL: none */
    int64_t store_journal; /* enum store_journal */
    int64_t history_days;
    int64_t daily_years;
    /* where berth-probe-cpu is; NULL: beside berthd, then the installed place */
    char *probe_dir;
    char *node; /* a node folder to serve instead of this machine; NULL: this machine */
    int64_t socket_mode;
    bool probe_at_start;
    int64_t quick_budget_ms;
    int64_t gpu_quick_budget_ms; /* after the driver has started */
    int64_t gpu_retry_s;         /* between looks at gpus that were in use; 0: none */
    int64_t full_budget_s;
    int64_t claim_ttl_max_s;
    int64_t claim_ttl_user_max_s; /* of ordinary users' claims without an owner */
    int64_t claims_per_user;
    int64_t claims_in_all;
    int64_t claim_resume_s;  /* after the last claim ended */
    int64_t probe_silence_s; /* a probe that prints nothing this long is hung */
    int64_t drift_mads;      /* this and the next ones: health/judge_limits.h */
    int64_t drift_bandwidth_percent, drift_latency_percent, drift_pingpong_percent;
    int64_t likes_bandwidth_percent, likes_latency_percent, likes_pingpong_percent;
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

/* All keys at their defaults; state_dir from $STATE_DIRECTORY when the service manager made one.
 * NO_MEMORY. */
enum berth_code config_init(struct config *ret_config, struct berth_err *err);
void config_done(struct config *config);

/* Reads a file over config. BAD_CONFIG names file, line and what is wrong: an unknown key (with the
 * nearest known one), a value of the wrong type or out of range, a key given twice. On failure
 * config is unchanged. */
enum berth_code config_read(struct config *config, const char *path, struct berth_err *err);

/* Sets one key as a line of the file would. */
enum berth_code config_set(struct config *config, const char *key, const char *value,
                           struct berth_err *err);

/* Every key with its present value and meaning, in the file's own format. */
void config_print(const struct config *config, FILE *file);
