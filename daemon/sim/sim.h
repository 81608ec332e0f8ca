/**
 * Folder daemon/sim: fair sharing of streams over limits. Numbers only: it knows neither places
 *   nor metrics.
 *
 * Main types: struct load_stream (bytes that move), struct load_limit (what several share).
 * Uses: nobody
 * Public headers: share.h sim.h stream.h
 * Shown by: tests/unit/sim
 */
#pragma once
