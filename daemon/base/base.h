/**
 * Folder daemon/base: the ground that every other folder stands on: errors, text, files, time,
 *   logging, settings.
 *
 * Main types: struct berth_err (one error with its parameters), struct cpuset, struct sysio (files
 *   below one root), struct clock, struct config, struct print (JSON text).
 * Uses: nobody
 * Public headers: base.h clock.h config.h cpuset.h embedded.h err.h grow.h log.h log_limit.h
 *   memfree.h notify.h peer.h print.h request_limits.h room.h sysio.h text.h
 * Shown by: tests/unit/base
 */
#pragma once
