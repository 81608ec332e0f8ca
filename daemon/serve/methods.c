/* Table of methods. A method that an interface declares and this table lacks returns
 * MethodNotImplemented. */
#include "varlink/method.h"

#include <stddef.h>

#include "serve/serve.h"

const struct method methods[] = {
    {"io.berth.Fabric.Export", ACCESS_ANY, query_export},
    {"io.berth.Fabric.GetCurves", ACCESS_ANY, query_get_curves},
    {"io.berth.Fabric.GetMatrix", ACCESS_ANY, query_get_matrix},
    {"io.berth.Fabric.GetNode", ACCESS_ANY, query_get_node},
    {"io.berth.Fabric.GetContention", ACCESS_ANY, query_get_contention},
    {"io.berth.Fabric.GetStatus", ACCESS_ANY, query_get_status},
    {"io.berth.Fabric.GetTuning", ACCESS_ANY, query_get_tuning},
    {"io.berth.Fabric.History", ACCESS_ANY, query_history},
    {"io.berth.Fabric.ListMetrics", ACCESS_ANY, query_list_metrics},
    {"io.berth.Fabric.Map", ACCESS_ANY, query_map},
    {"io.berth.Fabric.PredictKernel", ACCESS_ANY, query_predict_kernel},
    {"io.berth.Fabric.Record", ACCESS_ANY, query_record},
    {"io.berth.Fabric.Watch", ACCESS_ANY, query_watch},
    {"io.berth.Health.AcceptBaseline", ACCESS_ADMIN, query_accept},
    {"io.berth.Health.AddRun", ACCESS_ADMIN, query_add_run},
    {"io.berth.Health.CancelProbe", ACCESS_ADMIN, query_cancel_probe},
    {"io.berth.Health.Check", ACCESS_ANY, query_check},
    {"io.berth.Health.GetBaseline", ACCESS_ANY, query_get_baseline},
    {"io.berth.Health.ListFindings", ACCESS_ANY, query_list_findings},
    {"io.berth.Health.Load", ACCESS_ADMIN, query_load},
    {"io.berth.Health.Probe", ACCESS_ADMIN, query_probe},
    {"io.berth.Placement.Allocate", ACCESS_ANY, query_allocate},
    {"io.berth.Placement.Bind", ACCESS_ANY, query_bind},
    {"io.berth.Placement.Route", ACCESS_ANY, query_route},
    /* permission depends on the caller: claim/permission.h */
    {"io.berth.Placement.Claim", ACCESS_ANY, query_claim},
    {"io.berth.Placement.ListClaims", ACCESS_ANY, query_list_claims},
    {"io.berth.Placement.Release", ACCESS_ANY, query_release},
    {"io.berth.Placement.Report", ACCESS_ANY, query_report},
    {"io.berth.Placement.ListReports", ACCESS_ANY, query_list_reports},
    {NULL, ACCESS_ANY, NULL},
};
