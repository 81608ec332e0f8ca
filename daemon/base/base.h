/**
 * Folder daemon/base: the ground that every other folder stands on: errors, text, files, time,
 *   logging, settings.
 *
 * Main types: struct berth_err (one error with its parameters), struct cpuset, struct files (files
 *   below one root), struct clock, struct config, struct print (JSON text).
 * Uses: nobody
 * Public headers: base.h clock.h config.h cpuset.h embedded.h err.h grow.h log.h log_limit.h
 *   free_memory.h service_manager.h peer.h print.h request_limits.h process_limits.h files.h
 *   quantity.h sealed.h text.h
 * Shown by: tests/unit/base
 */
#pragma once
