/**
 * Findings of this node, open and cleared, in the store's file. Threads and failures as in
 * store/store.h.
 *
 * A finding is identified by code, place and subject; its text and numbers are the latest.
 */
#pragma once
#include "health/assessment.h"
#include "store/store.h"

#define STORE_FINDINGS_MAX 4096 /* number of cleared findings that are kept, the newest */

#define STORE_FINDINGS_OF_EVENT 16

/* Makes the assessment's findings the open ones, in one transaction. New ones get their at_s, or
 * now_s if that is unknown. Existing ones get the new text and numbers. Missing ones clear at
 * now_s, unless the assessment is incomplete (is_cut). With is_acceptance they clear because they
 * were accepted. Returns all open findings in *ret_opened, a new array (free). */
enum berth_code store_finding_keep(struct store *store, const struct assessment *assessment,
                                   int64_t now_s, bool is_acceptance, struct opened **ret_opened,
                                   size_t *ret_count, struct berth_err *err);

/* Returns all open findings in a new array (free), for an assessment that compares with them. */
enum berth_code store_finding_opened(struct store *store, struct opened **ret_opened,
                                     size_t *ret_count, struct berth_err *err);

/* A stored finding. */
struct finding_kept {
    struct finding finding; /* since_s: time when it appeared */
    char unit[16];          /* finding.unit points here, or is NULL */
    int64_t cleared_s;      /* also when another finding explains it since then; 0 open */
    int64_t critical_s;     /* time when it became critical; 0 not critical, or unknown */
    bool was_accepted;      /* cleared because its object was accepted */
    int64_t event;          /* the same for findings of one cause and about one time */
    size_t series;          /* their number */
};

/* Lists findings that appeared or cleared at or after since_s on a machine of this node's name: at
 * most max, in a new array (free). A finding also clears when another explains it. Findings
 * explained since they appeared are not listed.
 *
 * The latest change comes first. Findings of an event follow each other, the worst first, and at
 * most STORE_FINDINGS_OF_EVENT of them. Their since_s and cleared_s are those of the event, which
 * clears with its last finding. While it is open, those that have cleared are not listed. */
enum berth_code store_finding_list(struct store *store, int64_t since_s, size_t max,
                                   struct finding_kept **ret_finding, size_t *ret_count,
                                   struct berth_err *err);
