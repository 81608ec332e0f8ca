#include "store/retention.h"

#include "store/core.h"

#define DAY_S 86400

/* Settling. ?1 and ?2: first and last series of a step; ?3 and ?4: the runs, as in struct
 * keeping_state; newer runs are excluded. An existing copy is from a day that was settled partly
 * before. */
#define FRESH_RUNS "SELECT id FROM run WHERE is_settled = 0 AND started_s < ?3 AND id <= ?4"

static const char *const settle_series[] = {
    "INSERT OR IGNORE INTO settled_value (series, run, value, low, high, n) SELECT v.series, "
    "v.run, v.value, v.low, v.high, v.n"
    " FROM series s CROSS JOIN run r CROSS JOIN fresh_value v ON v.run = r.id AND v.series = s.id"
    " WHERE s.id BETWEEN ?1 AND ?2 AND r.is_settled = 0 AND r.started_s < ?3 AND r.id <= ?4",
};

static const char *const settle_runs[] = {
    "DELETE FROM fresh_value WHERE run IN (" FRESH_RUNS ")",
    "UPDATE run SET is_settled = 1 WHERE id IN (" FRESH_RUNS ")",
};

/* Thinning. ?3 and ?4: begin and end of the day; ?5: the day; ?6: first day whose medians are kept;
 * ?7 and ?8: the day's first and last run. The order of joins is fixed: a series' values of a day
 * are adjacent. */
#define VALUES_OF_DAY(table)                                                                       \
    " FROM series s CROSS JOIN " table                                                             \
    " v ON v.series = s.id AND v.run BETWEEN ?7 AND ?8 CROSS JOIN run r ON r.id = v.run"           \
    " WHERE s.id BETWEEN ?1 AND ?2 AND r.is_thinned = 0 AND r.started_s >= ?3 AND r.started_s < "  \
    "?4"

static const char *const thin_series[] = {
    "INSERT INTO day (series, day, value, low, high, n)"
    " SELECT series, ?5, avg(iif(at IN ((n + 1) / 2, (n + 2) / 2), value, NULL)), min(value), "
    "max(value), n FROM"
    " (SELECT v.series, v.value, row_number() OVER (PARTITION BY v.series ORDER BY v.value) AS at,"
    " count(*) OVER (PARTITION BY v.series) AS n" VALUES_OF_DAY(
        "settled_value") ")"
                         " WHERE ?5 >= ?6 GROUP BY series"
                         " ON CONFLICT (series, day) DO UPDATE SET value = iif(excluded.n > n, "
                         "excluded.value, "
                         "value), low = min(low, excluded.low),"
                         " high = max(high, excluded.high), n = n + excluded.n",
    "DELETE FROM settled_value WHERE (series, run) IN (SELECT v.series, v.run" VALUES_OF_DAY(
        "settled_value") ")",
    "DELETE FROM skip WHERE (series, run) IN (SELECT v.series, v.run" VALUES_OF_DAY("skip") ")",
    ("DELETE FROM day WHERE (series, day) IN (SELECT d.series, d.day FROM series s CROSS JOIN day "
     "d ON d.series = s.id AND d.day < ?6"
     " WHERE s.id BETWEEN ?1 AND ?2)"),
};

/* Runs after all series. Texts of the day's runs or skips may be shared with others. */
#define RUNS_OF_DAY                                                                                \
    "(SELECT id FROM run WHERE is_thinned = 0 AND started_s >= ?3 AND started_s < ?4)"

/* Rates of a set's flows belong together, so the day's last measurement replaces the day, not
 * medians. The latest of all is kept. */
#define RATES_OF_SETS                                                                              \
    "(SELECT r.flow_set, r.measured_s FROM flow_set s CROSS JOIN flow_rate r ON r.flow_set = "     \
    "s.id AND r.measured_s <> s.measured_s"

static const char *const thin_runs[] = {
    "DELETE FROM flow_rate WHERE (flow_set, measured_s) IN " RATES_OF_SETS
    " AND r.measured_s >= ?3 AND r.measured_s < (SELECT max(measured_s) FROM flow_rate WHERE "
    "flow_set = s.id AND measured_s < ?4))",
    "DELETE FROM flow_rate WHERE (flow_set, measured_s) IN " RATES_OF_SETS
    " AND r.measured_s < ?6 * 86400)",
    "DELETE FROM note WHERE run NOT IN (SELECT run FROM probe) AND"
    " run IN (SELECT id FROM run WHERE is_thinned = 1 OR (started_s >= ?3 AND started_s < ?4))",
    "UPDATE run SET is_thinned = 1 WHERE id IN " RUNS_OF_DAY
    " AND (id IN (SELECT run FROM series) OR id IN (SELECT run FROM probe) OR id IN (SELECT run "
    "FROM note))",
    "DELETE FROM run WHERE id IN " RUNS_OF_DAY,
    "DELETE FROM run WHERE is_thinned = 1 AND id NOT IN (SELECT run FROM series) AND id NOT IN "
    "(SELECT run FROM probe)"
    " AND id NOT IN (SELECT run FROM note)",
    "DELETE FROM text WHERE NOT EXISTS (SELECT 1 FROM run WHERE conditions = text.id)"
    " AND NOT EXISTS (SELECT 1 FROM skip WHERE why = text.id) AND NOT EXISTS (SELECT 1 FROM series "
    "WHERE why = text.id)",
};

enum { PARAMETERS = 8 };

/* A part of settling or of thinning. */
struct step {
    bool is_thinning;
    bool is_last;                  /* of its day */
    int64_t last;                  /* series */
    int64_t parameter[PARAMETERS]; /* of the statements above: ?1, ?2, ... */
};

struct statements {
    const char *const *sql;
    size_t count;
};

#define STATEMENTS(array) ((struct statements){array, sizeof(array) / sizeof((array)[0])})

static enum berth_code run_all(struct store *store, struct statements statements,
                               const struct step *step, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < statements.count && code == BERTH_OK; i++) {
        sqlite3_stmt *statement = NULL;
        code = store_core_prepare(store, statements.sql[i], &statement, err);
        if (code == BERTH_OK) {
            for (int at = 1; at <= sqlite3_bind_parameter_count(statement); at++)
                sqlite3_bind_int64(statement, at, step->parameter[at - 1]);
            code = store_core_step(store, statement, "tending history", NULL, err);
        }
        sqlite3_finalize(statement);
    }
    return code;
}

static enum berth_code do_step(struct store *store, void *arg, struct berth_err *err)
{
    const struct step *step = arg;
    enum berth_code code = run_all(
        store, step->is_thinning ? STATEMENTS(thin_series) : STATEMENTS(settle_series), step, err);
    if (code == BERTH_OK && step->is_last)
        code = run_all(store, step->is_thinning ? STATEMENTS(thin_runs) : STATEMENTS(settle_runs),
                       step, err);
    return code;
}

static const int64_t nothing = INT64_MAX;

/* Returns the number that sql selects; `nothing` for NULL. */
static enum berth_code number_of(struct store *store, const char *sql, int64_t first,
                                 int64_t second, int64_t *ret_number, struct berth_err *err)
{
    sqlite3_stmt *statement = NULL;
    enum berth_code code = store_core_prepare(store, sql, &statement, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(statement, 1, first);
        /* refused, correctly, without a second parameter */
        sqlite3_bind_int64(statement, 2, second);
        int rc = store_core_next(statement);
        int64_t number = rc == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL
                             ? sqlite3_column_int64(statement, 0)
                             : nothing;
        code = rc == SQLITE_ROW || rc == SQLITE_DONE
                   ? BERTH_OK
                   : store_core_fail(store, "looking for old history", err);
        if (code == BERTH_OK)
            *ret_number = number;
    }
    sqlite3_finalize(statement);
    return code;
}

/* Chooses the series of a step, after those up to @done. */
static enum berth_code choose_series(struct store *store, int64_t done, struct step *step,
                                     struct berth_err *err)
{
    int64_t next = 0, last = 0;
    enum berth_code code = number_of(
        store, "SELECT max(id) FROM (SELECT id FROM series WHERE id > ?1 ORDER BY id LIMIT 128)",
        done, 0, &next, err);
    if (code == BERTH_OK)
        code = number_of(store, "SELECT max(id) FROM series WHERE id > ?1", done, 0, &last, err);
    step->parameter[0] = done + 1;
    step->parameter[1] = step->last = next;
    step->is_last = next == last;
    return code;
}

/* Chooses the runs to settle: those of past days. The choice stays fixed while they are settled,
 * though runs are added and days end. */
static enum berth_code choose_settling(struct store *store, int64_t today, struct step *step,
                                       bool *ret_any, struct berth_err *err)
{
    struct keeping_state *keeping = &store->keeping;
    enum berth_code code = BERTH_OK;
    if (keeping->settled == 0) {
        keeping->before_s = today * DAY_S;
        code = number_of(store, "SELECT max(id) FROM run WHERE is_settled = 0 AND started_s < ?1",
                         keeping->before_s, 0, &keeping->run, err);
    }
    *ret_any = code == BERTH_OK && keeping->run != nothing;
    if (!*ret_any)
        return code;
    step->parameter[2] = keeping->before_s;
    step->parameter[3] = keeping->run;
    return choose_series(store, keeping->settled, step, err);
}

/* True when the clock is trusted: a wrong one would make everything old. It needs runs on several
 * of the previous days. */
static enum berth_code is_clock_trusted(struct store *store, const struct keep *keep, int64_t today,
                                        bool *ret_trusted, struct berth_err *err)
{
    static const char days[] = "SELECT count(DISTINCT started_s / 86400) FROM run WHERE started_s "
                               ">= ?1 AND started_s < ?2";
    int64_t count = 0;
    enum berth_code code = number_of(store, days, (today - STORE_KEEP_WEEK + 1) * DAY_S,
                                     (today + 1) * DAY_S, &count, err);
    if (code == BERTH_OK)
        *ret_trusted = count >= keep->witness_days;
    return code;
}

static enum berth_code choose_thinning(struct store *store, const struct keep *keep, int64_t today,
                                       struct step *step, bool *ret_any, struct berth_err *err)
{
    static const char first_run[] =
        "SELECT min(id) FROM run WHERE is_thinned = 0 AND started_s >= ?1 AND started_s < ?2";
    static const char last_run[] =
        "SELECT max(id) FROM run WHERE is_thinned = 0 AND started_s >= ?1 AND started_s < ?2";
    struct keeping_state *keeping = &store->keeping;
    int64_t oldest_s = nothing;
    enum berth_code code =
        number_of(store, "SELECT min(started_s) FROM run WHERE is_thinned = 0 AND started_s < ?1",
                  (today - keep->history_days) * DAY_S, 0, &oldest_s, err);
    *ret_any = false;
    if (code == BERTH_OK && oldest_s != nothing)
        code = is_clock_trusted(store, keep, today, ret_any, err);
    if (!*ret_any)
        return code;
    int64_t day = oldest_s / DAY_S - (oldest_s % DAY_S < 0);
    if (keeping->day != day) {
        keeping->day = day;
        keeping->series = 0;
    }
    *step = (struct step){
        .is_thinning = true,
        .parameter = {[2] = day * DAY_S, (day + 1) * DAY_S, day, today - keep->daily_days}};
    code = number_of(store, first_run, step->parameter[2], step->parameter[3], &step->parameter[6],
                     err);
    if (code == BERTH_OK)
        code = number_of(store, last_run, step->parameter[2], step->parameter[3],
                         &step->parameter[7], err);
    return code == BERTH_OK ? choose_series(store, keeping->series, step, err) : code;
}

enum berth_code store_retention(struct store *store, const struct keep *keep, bool *ret_more,
                                struct berth_err *err)
{
    struct step step = {0};
    bool any = false;
    store_core_lock(store);
    const int64_t today = clock_now_s(&store->clock) / DAY_S;
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK && store->state != STORE_MEMORY_ONLY) {
        code = choose_settling(store, today, &step, &any, err);
        if (code == BERTH_OK && !any) /* thinning needs settled values */
            code = choose_thinning(store, keep, today, &step, &any, err);
    }
    if (code == BERTH_OK && any)
        code = store_core_transact(store, do_step, &step, err);
    if (code == BERTH_OK) {
        if (any)
            *(step.is_thinning ? &store->keeping.series : &store->keeping.settled) =
                step.is_last ? 0 : step.last;
        *ret_more = any;
    }
    return store_core_done(store, code);
}
