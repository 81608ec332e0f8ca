/**
 * Keeps reports of users: the times that predicted transfers took, by kind of prediction. Names the
 * predictions of an answer, and corrects them. Loop thread only, except a view.
 *
 * A user's reports correct that user's predictions. Root's correct those of all users without a
 * correction by their own. Reports rest on the node's values, so a new version of the values ends
 * them, and so does a restart.
 *
 * A kind keeps its latest CORRECTION_REPORTS_MAX reports, a user its latest REPORT_KEEP_KINDS
 * kinds. The daemon keeps reports of REPORT_KEEP_USERS users besides root; more are refused until
 * one has reported nothing for REPORT_KEEP_S.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "cost/correction.h"
#include "serve/report_kind.h"

#define REPORT_KEEP_KINDS 32
#define REPORT_KEEP_USERS 128
#define REPORT_KEEP_S     604800
#define REPORT_FARTHEST   100 /* factor beyond which a time is of another thing */
#define REPORT_ID_SIZE    80

struct report_keep_user;

/* Zero-initialise. */
struct report_keep {
    struct report_keep_user *first;
    size_t count; /* users, root among them */
};

void report_keep_done(struct report_keep *keep);

/* Identity of a caller, with the node and the version of its values that the answer rests on. */
struct report_asker {
    uid_t uid;
    uint64_t version;
    const char *node; /* the fingerprint; borrowed */
};

/* A corrected kind. */
struct report_correction {
    uint32_t kind;
    bool is_own; /* by the user's reports, not root's */
    struct correction correction;
};

/* Data that names and corrects the predictions of one answer. Any thread may use it. */
struct report_view {
    struct report_asker asker;
    struct report_correction *item; /* owned */
    size_t count;
};

/* Copies the corrections of the asker. NO_MEMORY. End ret with report_view_done. */
enum berth_code report_keep_view(const struct report_keep *keep, const struct report_asker *asker,
                                 struct report_view *ret, struct berth_err *err);
void report_view_done(struct report_view *view);

/* A prediction as an answer has it. */
struct report_named {
    struct estimate predicted; /* corrected */
    struct correction correction;
    bool is_own;
    char id[REPORT_ID_SIZE];
};

/* Names and corrects a prediction of that kind. Its id has the kind, the time before the
 * correction, the asker and the version: equal answers have equal ids. An id gives no right, so
 * that nothing in it is secret. */
struct report_named report_view_name(const struct report_view *view, struct report_kind kind,
                                     struct estimate estimate);

/* Reports of a kind, for a reader. */
struct report_entry {
    struct report_kind kind;
    bool is_own;
    unsigned reports;
    /* medians of |ln(observed / predicted)| before and after the correction of the time */
    double before, after;
    struct correction correction; /* 0 reports: none */
};

/* Adds a report: the observed time, of bytes where these are not those of the request (0). Fails
 * with INVALID_PARAMETER (answer, observed_ns, bytes), PERMISSION_DENIED for another user's id,
 * UNAVAILABLE when there are too many users, NO_MEMORY. */
enum berth_code report_keep_add(struct report_keep *keep, const struct report_asker *asker,
                                const char *id, int64_t observed_ns, int64_t bytes, uint64_t now_ns,
                                struct report_entry *ret, struct berth_err *err);

/* Calls each with the kinds of the asker, the latest reported first, then with root's. */
void report_keep_each(const struct report_keep *keep, const struct report_asker *asker,
                      void (*each)(void *arg, const struct report_entry *entry), void *arg);
