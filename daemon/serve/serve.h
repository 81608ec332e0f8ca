/**
 * Folder daemon/serve: the methods: JSON in, an answer of the folders below, JSON out. A file for
 *   each family of methods.
 *
 * Main types: struct daemon (all that a handler may reach), struct claim_keep (the claims in
 *   force).
 * Uses: all of its program
 * Public headers: claim_keep.h daemon.h hwloc_keep.h serve.h
 * Shown by: tests/system, schema/
 *
 * Handlers of the method table, one file for each family. A handler gets checked arguments and a
 * snapshot and returns an outcome. A planner or the snapshot provides the result.
 */
#pragma once
#include "varlink/method.h"

enum berth_code query_get_node(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_list_metrics(const struct call *call, struct outcome *ret,
                                   struct berth_err *err);
enum berth_code query_get_curves(const struct call *call, struct outcome *ret,
                                 struct berth_err *err);
enum berth_code query_get_matrix(const struct call *call, struct outcome *ret,
                                 struct berth_err *err);
enum berth_code query_get_contention(const struct call *call, struct outcome *ret,
                                     struct berth_err *err);
enum berth_code query_get_tuning(const struct call *call, struct outcome *ret,
                                 struct berth_err *err);
enum berth_code query_get_status(const struct call *call, struct outcome *ret,
                                 struct berth_err *err);
enum berth_code query_watch(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_export(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_map(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_predict_kernel(const struct call *call, struct outcome *ret,
                                     struct berth_err *err);
enum berth_code query_record(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_history(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_probe(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_add_run(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_load(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_cancel_probe(const struct call *call, struct outcome *ret,
                                   struct berth_err *err);
enum berth_code query_accept(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_get_baseline(const struct call *call, struct outcome *ret,
                                   struct berth_err *err);
enum berth_code query_list_findings(const struct call *call, struct outcome *ret,
                                    struct berth_err *err);
enum berth_code query_check(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_allocate(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_bind(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_route(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_claim(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_release(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_list_claims(const struct call *call, struct outcome *ret,
                                  struct berth_err *err);
enum berth_code query_report(const struct call *call, struct outcome *ret, struct berth_err *err);
enum berth_code query_list_reports(const struct call *call, struct outcome *ret,
                                   struct berth_err *err);
