/**
 * Objects of the process, which main makes and handlers use.
 */
#pragma once
#include <stdint.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/files.h"
#include "serve/map_keep.h"
#include "serve/plan_cache.h"
#include "serve/report_keep.h"
#include "varlink/notifier.h"

struct claim_keep;
struct free_memory;
struct service_manager;
struct sched;
struct server;

struct daemon {
    struct clock clock;
    struct config config;
    struct files io;
    struct notifier notifier;
    struct sched *sched;
    struct claim_keep *claims;
    struct plan_cache plans; /* plans under keys without a claim */
    struct map_keep maps;
    struct report_keep reports;
    struct server *server;
    /* NULL for a recorded node, whose memory cannot be read */
    struct free_memory *free_memory;
    struct service_manager *notify;
    int64_t started_at_s;
};
