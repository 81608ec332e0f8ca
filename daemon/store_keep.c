#include "store_keep.h"

#include "store_core.h"

#define DAY_S 86400

/* ?1 and ?2 first and last series, ?3 and ?4 begin and end of the day, ?5 the day, ?6 the first day of which medians are kept.
 * The order of joins is spelled out: each value is found by its key. */
#define VALUES_OF_DAY(table)                                                                                                     \
    " FROM series s CROSS JOIN run r CROSS JOIN " table " v ON v.series = s.id AND v.run = r.id"                                   \
    " WHERE s.id BETWEEN ?1 AND ?2 AND r.is_thinned = 0 AND r.started_s >= ?3 AND r.started_s < ?4"

static const char *const thin_series[] = {
    "INSERT INTO day (series, day, value, low, high, n)"
    " SELECT series, ?5, avg(iif(at IN ((n + 1) / 2, (n + 2) / 2), value, NULL)), min(value), max(value), n FROM"
    " (SELECT v.series, v.value, row_number() OVER (PARTITION BY v.series ORDER BY v.value) AS at,"
    " count(*) OVER (PARTITION BY v.series) AS n" VALUES_OF_DAY("value") ")"
    " WHERE ?5 >= ?6 GROUP BY series"
    " ON CONFLICT DO UPDATE SET value = iif(excluded.n > n, excluded.value, value), low = min(low, excluded.low),"
    " high = max(high, excluded.high), n = n + excluded.n",
    "DELETE FROM value WHERE (series, run) IN (SELECT v.series, v.run" VALUES_OF_DAY("value") ")",
    "DELETE FROM skip WHERE (series, run) IN (SELECT v.series, v.run" VALUES_OF_DAY("skip") ")",
    ("DELETE FROM day WHERE (series, day) IN (SELECT d.series, d.day FROM series s CROSS JOIN day d ON d.series = s.id AND d.day < ?6"
     " WHERE s.id BETWEEN ?1 AND ?2)"),
};

/* When all series are done. A text that a run or a skip of the day used may be somebody else's, too. */
#define RUNS_OF_DAY "(SELECT id FROM run WHERE is_thinned = 0 AND started_s >= ?3 AND started_s < ?4)"

/* What the flows of a set got belongs together: the last measurement of the day stands for it, not one of medians. The latest stays. */
#define RATES_OF_SETS "(SELECT r.flow_set, r.measured_s FROM flow_set s CROSS JOIN flow_rate r ON r.flow_set = s.id AND r.measured_s <> s.measured_s"

static const char *const thin_runs[] = {
    "DELETE FROM flow_rate WHERE (flow_set, measured_s) IN " RATES_OF_SETS
    " AND r.measured_s >= ?3 AND r.measured_s < (SELECT max(measured_s) FROM flow_rate WHERE flow_set = s.id AND measured_s < ?4))",
    "DELETE FROM flow_rate WHERE (flow_set, measured_s) IN " RATES_OF_SETS " AND r.measured_s < ?6 * 86400)",
    "DELETE FROM note WHERE run NOT IN (SELECT run FROM probe) AND"
    " run IN (SELECT id FROM run WHERE is_thinned = 1 OR (started_s >= ?3 AND started_s < ?4))",
    "UPDATE run SET is_thinned = 1 WHERE id IN " RUNS_OF_DAY
    " AND (id IN (SELECT run FROM series) OR id IN (SELECT run FROM probe) OR id IN (SELECT run FROM note))",
    "DELETE FROM run WHERE id IN " RUNS_OF_DAY,
    "DELETE FROM run WHERE is_thinned = 1 AND id NOT IN (SELECT run FROM series) AND id NOT IN (SELECT run FROM probe)"
    " AND id NOT IN (SELECT run FROM note)",
    "DELETE FROM text WHERE NOT EXISTS (SELECT 1 FROM run WHERE conditions = text.id)"
    " AND NOT EXISTS (SELECT 1 FROM skip WHERE why = text.id) AND NOT EXISTS (SELECT 1 FROM series WHERE why = text.id)",
};

struct step {
    int64_t day, first_kept_day; /* the day to thin, and the first one whose median is kept */
    int64_t first, last;         /* series */
    bool is_last;                /* of the day */
};

static enum berth_code run_all(struct store *store, const char *const *sql, size_t count, const struct step *step, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < count && code == BERTH_OK; i++) {
        sqlite3_stmt *statement = NULL;
        code = store_core_prepare(store, sql[i], &statement, err);
        if (code == BERTH_OK) {
            const int64_t parameter[] = {step->first, step->last, step->day * DAY_S, (step->day + 1) * DAY_S, step->day, step->first_kept_day};
            for (int at = 1; at <= sqlite3_bind_parameter_count(statement); at++)
                sqlite3_bind_int64(statement, at, parameter[at - 1]);
            code = store_core_step(store, statement, "thinning history", NULL, err);
        }
        sqlite3_finalize(statement);
    }
    return code;
}

static enum berth_code thin(struct store *store, void *arg, struct berth_err *err)
{
    const struct step *step = arg;
    enum berth_code code = run_all(store, thin_series, sizeof thin_series / sizeof thin_series[0], step, err);
    if (code == BERTH_OK && step->is_last)
        code = run_all(store, thin_runs, sizeof thin_runs / sizeof thin_runs[0], step, err);
    return code;
}

static enum berth_code ask(struct store *store, const char *sql, int64_t parameter, int64_t *ret_number, struct berth_err *err)
{
    sqlite3_stmt *statement = NULL;
    enum berth_code code = store_core_prepare(store, sql, &statement, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(statement, 1, parameter);
        code = store_core_step(store, statement, "looking for old history", ret_number, err);
    }
    sqlite3_finalize(statement);
    return code;
}

/* The step that is due; false in ret_any when there is none. */
static enum berth_code find_step(struct store *store, const struct keep *keep, struct step *ret_step, bool *ret_any, struct berth_err *err)
{
    const int64_t today = clock_now_s(&store->clock) / DAY_S, nothing = INT64_MAX;
    int64_t oldest_s = nothing, next = 0, last = 0;
    enum berth_code code = ask(store, "SELECT coalesce(min(started_s), 9223372036854775807) FROM run WHERE is_thinned = 0 AND started_s < ?1",
                               (today - keep->history_days) * DAY_S, &oldest_s, err);
    if (code != BERTH_OK || oldest_s == nothing) {
        *ret_any = false;
        return code;
    }
    struct step step = {.day = oldest_s / DAY_S - (oldest_s % DAY_S < 0), .first_kept_day = today - keep->daily_days};
    if (store->thinned_day != step.day) { /* beginning a day again, after a restart, does no harm */
        store->thinned_day = step.day;
        store->thinned_series = 0;
    }
    step.first = store->thinned_series + 1;
    code = ask(store, "SELECT max(id) FROM (SELECT id FROM series WHERE id >= ?1 ORDER BY id LIMIT 128)", step.first, &next, err);
    if (code == BERTH_OK)
        code = ask(store, "SELECT max(id) FROM series WHERE id >= ?1", step.first, &last, err);
    if (code != BERTH_OK)
        return code;
    step.last = next;
    step.is_last = next == last;
    *ret_step = step;
    *ret_any = true;
    return BERTH_OK;
}

enum berth_code store_keep(struct store *store, const struct keep *keep, bool *ret_more, struct berth_err *err)
{
    struct step step = {0};
    bool any = false;
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK && store->state != STORE_MEMORY_ONLY)
        code = find_step(store, keep, &step, &any, err);
    if (code == BERTH_OK && any)
        code = store_core_transact(store, thin, &step, err);
    if (code == BERTH_OK) {
        if (any)
            store->thinned_series = step.is_last ? 0 : step.last;
        *ret_more = any;
    }
    return store_core_done(store, code);
}
