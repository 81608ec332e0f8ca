/**
 * What an answer to a call needs to name and correct its predictions. Loop thread only.
 */
#pragma once
#include "serve/report_keep.h"
#include "varlink/method.h"

/* Copies the corrections that hold for the caller now. NO_MEMORY. End ret with report_view_done;
 * it borrows from the call's snapshot. */
enum berth_code query_report_view(const struct call *call, struct report_view *ret,
                                  struct berth_err *err);
