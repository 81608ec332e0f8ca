/**
 * Explains a choice of GPUs by the record of its price: what ends last, shared limits, proof or
 * gap, alternatives, and what is not known.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/traffic.h"

/* Fills the answer's predictions, proof, gap, evidence, reasons and warnings, once its tasks have
 * their memory. NO_MEMORY. */
enum berth_code plan_bind_explain(const struct bind_traffic *traffic, const struct snapshot *snap,
                                  const struct bind_gpus *gpus, struct bind_answer *answer,
                                  struct berth_err *err);
