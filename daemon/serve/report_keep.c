/* Invariants:
 * 1. A kind occurs once in a user's list, with 1 to CORRECTION_REPORTS_MAX reports.
 * 2. A user in the list has a kind, and all its reports are of one version. */
#include "serve/report_keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"

#define SECOND_NS  UINT64_C(1000000000)
#define BYTES_NEAR 4 /* bytes may differ from the request's by this factor: the time is scaled */

struct kept {
    struct kept *next; /* the latest reported is first */
    uint32_t kind;
    unsigned count, oldest; /* oldest: index of the one that the next replaces */
    /* logarithms of observed / predicted: before the correction, and after that of its time */
    float before[CORRECTION_REPORTS_MAX], after[CORRECTION_REPORTS_MAX];
    struct correction correction;
};

struct report_keep_user {
    struct report_keep_user *next;
    uid_t uid;
    uint64_t version, reported_ns;
    struct kept *first;
    size_t count;
};

static void kinds_free(struct report_keep_user *user, struct kept **from)
{
    while (*from != NULL) {
        struct kept *kept = *from;
        *from = kept->next;
        free(kept);
        user->count--;
    }
}

static void remove_user(struct report_keep *keep, struct report_keep_user **at)
{
    struct report_keep_user *user = *at;
    *at = user->next;
    kinds_free(user, &user->first);
    free(user);
    keep->count--;
}

void report_keep_done(struct report_keep *keep)
{
    while (keep->first != NULL)
        remove_user(keep, &keep->first);
}

/* Finds a user with reports by these values. */
static struct report_keep_user *find_user(const struct report_keep *keep, uid_t uid,
                                          uint64_t version)
{
    struct report_keep_user *user = keep->first;
    while (user != NULL && (user->uid != uid || user->version != version))
        user = user->next;
    return user;
}

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for reports");
}

static struct kept *find_kept(const struct report_keep_user *user, uint32_t kind)
{
    struct kept *kept = user != NULL ? user->first : NULL;
    while (kept != NULL && kept->kind != kind)
        kept = kept->next;
    return kept;
}

/* ---- views ---- */

static void view_user(struct report_view *view, const struct report_keep_user *user, bool is_own)
{
    for (const struct kept *kept = user != NULL ? user->first : NULL; kept != NULL;
         kept = kept->next)
        if (kept->correction.reports > 0)
            view->item[view->count++] =
                (struct report_correction){kept->kind, is_own, kept->correction};
}

enum berth_code report_keep_view(const struct report_keep *keep, const struct report_asker *asker,
                                 struct report_view *ret, struct berth_err *err)
{
    const struct report_keep_user *own = find_user(keep, asker->uid, asker->version),
                                  *root =
                                      asker->uid != 0 ? find_user(keep, 0, asker->version) : NULL;
    size_t most = (own != NULL ? own->count : 0) + (root != NULL ? root->count : 0);
    *ret = (struct report_view){.asker = *asker};
    if (most == 0)
        return BERTH_OK;
    ret->item = malloc(most * sizeof *ret->item);
    if (ret->item == NULL)
        return no_memory(err);
    view_user(ret, own, true);
    view_user(ret, root, asker->uid == 0);
    return BERTH_OK;
}

void report_view_done(struct report_view *view)
{
    free(view->item);
    *view = (struct report_view){0};
}

/* ---- ids ---- */

static uint32_t check_of(const char *id, size_t length, const char *node)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)id[i]) * 16777619u;
    for (; *node != '\0'; node++)
        hash = (hash ^ (unsigned char)*node) * 16777619u;
    return hash;
}

struct id {
    struct report_kind kind; /* with its bytes */
    uint64_t version, uid, predicted_ns;
};

static void write_id(const struct id *id, const char *node, char text[REPORT_ID_SIZE])
{
    int length =
        snprintf(text, REPORT_ID_SIZE, "%" PRIx32 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64,
                 report_kind_pack(&id->kind), id->version, id->uid, id->predicted_ns,
                 (uint64_t)id->kind.bytes);
    snprintf(text + length, REPORT_ID_SIZE - (size_t)length, "-%08" PRIx32,
             check_of(text, (size_t)length, node));
}

/* Reads an id: a text that write_id writes for this node. */
static bool read_id(const char *text, const char *node, struct id *ret)
{
    const char *at = text;
    uint64_t number[5];
    char again[REPORT_ID_SIZE];
    for (size_t i = 0; i < 5; i++) {
        char *end;
        number[i] = strtoull(at, &end, 16);
        if (end == at || *end != '-')
            return false;
        at = end + 1;
    }
    struct id id = {.version = number[1], .uid = number[2], .predicted_ns = number[3]};
    if (number[0] > UINT32_MAX || !report_kind_unpack((uint32_t)number[0], &id.kind))
        return false;
    id.kind.bytes = (int64_t)number[4];
    write_id(&id, node, again);
    *ret = id;
    return strcmp(text, again) == 0 && id.predicted_ns > 0;
}

struct report_named report_view_name(const struct report_view *view, struct report_kind kind,
                                     struct estimate estimate)
{
    struct report_named named = {.predicted = estimate, .correction = {.factor = 1}};
    if (!(estimate.time_ns > 0 && estimate.time_ns < (double)INT64_MAX))
        return named;
    kind.source = estimate.source;
    const struct id id = {.kind = kind,
                          .version = view->asker.version,
                          .uid = view->asker.uid,
                          .predicted_ns = (uint64_t)fmax(round(estimate.time_ns), 1)};
    uint32_t number = report_kind_pack(&kind);
    write_id(&id, view->asker.node, named.id);
    for (size_t i = 0; i < view->count && estimate.source != SOURCE_MEASURED; i++)
        if (view->item[i].kind == number) { /* the asker's own come first */
            named.correction = view->item[i].correction;
            named.is_own = view->item[i].is_own;
            break;
        }
    named.predicted = correction_apply(&named.correction, estimate);
    return named;
}

/* ---- reports ---- */

static struct report_entry entry_of(const struct kept *kept, bool is_own)
{
    struct report_entry entry = {.is_own = is_own, .reports = kept->count};
    float error[CORRECTION_REPORTS_MAX];
    report_kind_unpack(kept->kind, &entry.kind);
    if (entry.kind.source != SOURCE_MEASURED)
        entry.correction = kept->correction;
    for (unsigned i = 0; i < kept->count; i++)
        error[i] = fabsf(kept->before[i]);
    entry.before = correction_median(error, kept->count);
    for (unsigned i = 0; i < kept->count; i++)
        error[i] = fabsf(kept->after[i]);
    entry.after = correction_median(error, kept->count);
    return entry;
}

static enum berth_code check_id(const struct report_asker *asker, const char *text, struct id *ret,
                                struct berth_err *err)
{
    if (!read_id(text, asker->node, ret))
        return err_invalid(err, "answer", "%.60s is no id of a prediction of this node", text);
    if (ret->uid != asker->uid && asker->uid != 0)
        return err_set(err, BERTH_PERMISSION_DENIED,
                       "user %" PRIu64 " asked for that prediction, and may report its time",
                       ret->uid);
    if (ret->version != asker->version)
        return err_invalid(err, "answer", "the node's values have changed since: ask again");
    return BERTH_OK;
}

/* Gives the time of the request's bytes. */
static enum berth_code check_time(const struct id *id, int64_t observed_ns, int64_t bytes,
                                  double *ret_ratio, struct berth_err *err)
{
    double asked = (double)id->kind.bytes, scale = bytes > 0 ? asked / (double)bytes : 1,
           ratio = (double)observed_ns * scale / (double)id->predicted_ns;
    char observed[QUANTITY_SIZE], predicted[QUANTITY_SIZE];
    if (bytes > 0 && !(scale >= 1.0 / BYTES_NEAR && scale <= BYTES_NEAR))
        return err_invalid(err, "bytes",
                           "%" PRId64 " are more than a factor of %d from the request's %" PRId64,
                           bytes, BYTES_NEAR, id->kind.bytes);
    if (!(ratio >= 1.0 / REPORT_FARTHEST && ratio <= REPORT_FARTHEST))
        return err_invalid(err, "observed_ns",
                           "%s is a factor of more than %d from the predicted %s: of another thing",
                           quantity_time((double)observed_ns, observed), REPORT_FARTHEST,
                           quantity_time((double)id->predicted_ns, predicted));
    *ret_ratio = ratio;
    return BERTH_OK;
}

/* Removes the users with reports by other values, or with none for REPORT_KEEP_S. */
static void expire(struct report_keep *keep, uint64_t version, uint64_t now_ns)
{
    for (struct report_keep_user **at = &keep->first; *at != NULL;)
        if ((*at)->version != version || now_ns - (*at)->reported_ns > REPORT_KEEP_S * SECOND_NS)
            remove_user(keep, at);
        else
            at = &(*at)->next;
}

/* Finds the user, or makes one without kinds, which is in no list yet. */
static enum berth_code take_user(struct report_keep *keep, const struct report_asker *asker,
                                 struct report_keep_user **ret, struct berth_err *err)
{
    struct report_keep_user *user = find_user(keep, asker->uid, asker->version);
    size_t others = keep->count - (find_user(keep, 0, asker->version) != NULL);
    if (user == NULL && asker->uid != 0 && others >= REPORT_KEEP_USERS)
        return err_set(
            err, BERTH_UNAVAILABLE,
            "reports of %d users are kept; those of a user end after %d days without one",
            REPORT_KEEP_USERS, REPORT_KEEP_S / 86400);
    if (user == NULL)
        user = calloc(1, sizeof *user);
    if (user == NULL)
        return no_memory(err);
    user->uid = asker->uid;
    user->version = asker->version;
    *ret = user;
    return BERTH_OK;
}

/* Returns the kind as the user's first, made where it is new; NULL when out of memory. */
static struct kept *take_kept(struct report_keep_user *user, uint32_t kind)
{
    struct kept **at = &user->first, *kept;
    for (size_t i = 1; *at != NULL && (*at)->kind != kind; at = &(*at)->next, i++)
        if (i == REPORT_KEEP_KINDS) /* the one that was reported longest ago */
            break;
    if (*at != NULL && (*at)->kind == kind) {
        kept = *at;
        *at = kept->next;
    } else {
        kept = calloc(1, sizeof *kept);
        if (kept == NULL)
            return NULL;
        kept->kind = kind;
        kinds_free(user, at);
        user->count++;
    }
    kept->next = user->first;
    user->first = kept;
    return kept;
}

/* Returns the factor that answers of that kind have now. */
static double factor_now(const struct report_keep *keep, const struct report_asker *asker,
                         uint32_t kind)
{
    const struct kept *own = find_kept(find_user(keep, asker->uid, asker->version), kind),
                      *root = find_kept(find_user(keep, 0, asker->version), kind);
    return own != NULL && own->correction.reports > 0     ? own->correction.factor
           : root != NULL && root->correction.reports > 0 ? root->correction.factor
                                                          : 1;
}

static void put_report(struct kept *kept, double ratio, double factor)
{
    unsigned at = kept->count < CORRECTION_REPORTS_MAX ? kept->count++ : kept->oldest;
    kept->oldest = (at + 1) % CORRECTION_REPORTS_MAX;
    kept->before[at] = (float)log(ratio);
    kept->after[at] = (float)log(ratio / factor);
    kept->correction = correction_of(kept->before, kept->count);
}

enum berth_code report_keep_add(struct report_keep *keep, const struct report_asker *asker,
                                const char *id, int64_t observed_ns, int64_t bytes, uint64_t now_ns,
                                struct report_entry *ret, struct berth_err *err)
{
    struct id prediction = {0};
    struct report_keep_user *user = NULL;
    double ratio = 1;
    enum berth_code code = check_id(asker, id, &prediction, err);
    if (code == BERTH_OK)
        code = check_time(&prediction, observed_ns, bytes, &ratio, err);
    if (code != BERTH_OK)
        return code;
    expire(keep, asker->version, now_ns);
    code = take_user(keep, asker, &user, err);
    if (code != BERTH_OK || user == NULL)
        return code;
    uint32_t kind = report_kind_pack(&prediction.kind);
    bool is_new = user->count == 0, is_measured = prediction.kind.source == SOURCE_MEASURED;
    double factor = is_measured ? 1 : factor_now(keep, asker, kind);
    struct kept *kept = take_kept(user, kind);
    if (kept == NULL) {
        if (is_new)
            free(user);
        return no_memory(err);
    }
    if (is_new) {
        user->next = keep->first;
        keep->first = user;
        keep->count++;
    }
    user->reported_ns = now_ns;
    put_report(kept, ratio, factor);
    *ret = entry_of(kept, true);
    return BERTH_OK;
}

void report_keep_each(const struct report_keep *keep, const struct report_asker *asker,
                      void (*each)(void *arg, const struct report_entry *entry), void *arg)
{
    for (int root = 0; root < (asker->uid != 0 ? 2 : 1); root++) {
        const struct report_keep_user *user =
            find_user(keep, root ? 0 : asker->uid, asker->version);
        for (const struct kept *kept = user != NULL ? user->first : NULL; kept != NULL;
             kept = kept->next) {
            struct report_entry entry = entry_of(kept, !root);
            each(arg, &entry);
        }
    }
}
