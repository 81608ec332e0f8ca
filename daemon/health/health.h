/**
 * Folder daemon/health: assessment of a snapshot: values against stated ones, their peers and their
 *   own past. Pure.
 *
 * Main types: struct finding, struct assessment, struct health_limits, struct baseline.
 * Uses: base node
 * Public headers: action.h assessment.h baseline.h findings.h health.h limits.h load.h
 * Shown by: tests/unit/health
 */
#pragma once
