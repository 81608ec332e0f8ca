/**
 * The one object that main builds and handlers reach: who is who in this process.
 */
#pragma once
#include <stdint.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/sysio.h"
#include "serve/held.h"
#include "varlink/hub.h"

struct claim_keep;
struct memfree;
struct notify;
struct sched;
struct server;

struct daemon {
    struct clock clock;
    struct config config;
    struct sysio io;
    struct hub hub;
    struct sched *sched;
    struct claim_keep *claims;
    struct held held; /* plans under keys without a claim */
    struct server *server;
    struct memfree *memfree; /* NULL for a recorded node: its memory is not ours to look at */
    struct notify *notify;
    int64_t started_at_s;
};
