/**
 * Folder daemon/health: judgement of a snapshot: values against stated ones, their peers and their
 *   own past. Pure.
 *
 * Main types: struct finding, struct judgement, struct judge_limits, struct baseline.
 * Uses: base node
 * Public headers: baseline.h baseline_set.h health.h judge.h judge_limits.h judge_part.h
 * Shown by: tests/unit/health
 */
#pragma once
