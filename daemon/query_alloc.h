/* io.berth.Placement.Allocate: JSON on both sides of plan_alloc. */
#pragma once
#include "memfree.h"
#include "method.h"

enum berth_code query_allocate(const struct call *call, struct outcome *ret, struct berth_err *err);

/* What the daemon lends this handler (daemon.c): NULL on a recorded node. */
struct memfree *daemon_memfree(struct daemon *daemon);
