/**
 * The findings of this node, those that stand and those that have cleared, in the store's file.
 * Threads and failures as in store/store.h.
 *
 * A finding is the same from run to run while code, place and subject are; its words and numbers
 * are the latest.
 */
#pragma once
#include "health/judge.h"
#include "store/store.h"

#define STORE_FINDINGS_MAX 4096 /* that have cleared are kept, the newest */

/* Makes these the findings that stand, in one transaction: new ones appear (at their at_s, or now_s
 * when that is unknown), others have their words and numbers brought up to date, and what is no
 * longer among them clears at now_s. When the judgement is cut, nothing but what it lists is known,
 * and nothing clears. is_acceptance: what clears does so because it was accepted. ret_opened gets
 * all that stand, in a new array (free). */
enum berth_code store_finding_keep(struct store *store, const struct judgement *judgement,
                                   int64_t now_s, bool is_acceptance, struct opened **ret_opened,
                                   size_t *ret_count, struct berth_err *err);

/* A finding as it is kept. */
struct finding_kept {
    struct finding finding; /* since_s is when it appeared */
    char unit[16];          /* finding.unit points here, or is NULL */
    int64_t cleared_s;      /* or explained by another since then; 0: it stands */
    int64_t critical_s;     /* since when it is critical; 0: it is not, or unknown */
    bool was_accepted;      /* it cleared because what it was about was accepted */
};

/* What appeared or cleared at or after since_s on a machine of this node's name, the latest change
 * first, at most max, in a new array (free). A finding clears as well when another explains it;
 * those that another has explained since they appeared are not listed. */
enum berth_code store_finding_list(struct store *store, int64_t since_s, size_t max,
                                   struct finding_kept **ret_finding, size_t *ret_count,
                                   struct berth_err *err);
