#include "store/memory_db.h"

#include <stdio.h>
#include <string.h>

#include "store/db.h"

/* Copies rows: select's columns are insert's parameters. Row ids differ between files, so rows
 * refer by content: a node by fingerprint, a series by its key. Parameter ?1 of select is added to
 * run ids. */
struct pump {
    const char *select, *insert;
};

#define NODE "(SELECT id FROM node WHERE fingerprint = ?1)"
#define SERIES                                                                                     \
    "(SELECT id FROM series WHERE node = " NODE                                                    \
    " AND metric = ?2 AND from_place = ?3 AND to_place = ?4 AND axes = ?5)"
#define OF_NODE " JOIN node n ON n.id = "

static const struct pump machines[] = {
    {"SELECT fingerprint, name FROM node",
     "INSERT INTO node (fingerprint, name) VALUES (?1, ?2) "
     "ON CONFLICT (fingerprint) DO UPDATE SET name = excluded.name"},
    {"SELECT n.fingerprint, b.boot_id, b.first_seen_s, b.kernel FROM boot b" OF_NODE "b.node",
     "INSERT INTO boot (node, boot_id, first_seen_s, kernel) VALUES (" NODE
     ", ?2, ?3, ?4) ON CONFLICT DO NOTHING"},
};

/* Measurements. Memory has no settled ones; see store/retention.h. */
static const struct pump measured[] = {
    {"SELECT text FROM text", "INSERT INTO text (text) VALUES (?1) ON CONFLICT DO NOTHING"},
    {"SELECT r.id + ?1, n.fingerprint, b.boot_id, r.probe, r.backend, r.profile, r.started_s, "
     "r.elapsed_ns, r.status, t.text, r.is_thinned, r.is_settled"
     " FROM run r JOIN boot b ON b.id = r.boot" OF_NODE
     "b.node LEFT JOIN text t ON t.id = r.conditions",
     "INSERT INTO run (id, boot, probe, backend, profile, started_s, elapsed_ns, status, "
     "conditions, is_thinned, is_settled) VALUES (?1,"
     " (SELECT b.id FROM boot b JOIN node n ON n.id = b.node WHERE n.fingerprint = ?2 AND "
     "b.boot_id = ?3),"
     " ?4, ?5, ?6, ?7, ?8, ?9, (SELECT id FROM text WHERE text = ?10), ?11, ?12)"},
    {"SELECT n.fingerprint, p.name, p.run + ?1 FROM probe p" OF_NODE "p.node",
     "INSERT INTO probe (node, name, run) VALUES (" NODE
     ", ?2, ?3) ON CONFLICT (node, name) DO UPDATE SET run = excluded.run"},
    {"SELECT n.fingerprint, s.metric, s.from_place, s.to_place, s.axes, s.run + ?1, s.value, "
     "s.low, s.high, s.n, t.text FROM series s" OF_NODE "s.node LEFT JOIN text t ON t.id = s.why",
     "INSERT INTO series (node, metric, from_place, to_place, axes, run, value, low, high, n, "
     "why)"
     " VALUES (" NODE ", ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (SELECT id FROM text WHERE text "
     "= ?11)) ON CONFLICT (node, metric, from_place, to_place, axes) DO UPDATE SET"
     " run = " STORE_NEWER("run") ", value = " STORE_NEWER("value") ", low = " STORE_NEWER(
         "low") ", high = " STORE_NEWER("high") ", n = " STORE_NEWER("n") ", why "
                                                                          "= " STORE_NEWER("wh"
                                                                                           "y")},
    {"SELECT n.fingerprint, s.metric, s.from_place, s.to_place, s.axes, v.run + ?1, v.value, "
     "v.low, v.high, v.n"
     " FROM fresh_value v JOIN series s ON s.id = v.series" OF_NODE "s.node",
     "INSERT INTO fresh_value (series, run, value, low, high, n) VALUES (" SERIES
     ", ?6, ?7, ?8, ?9, ?10)"},
    {"SELECT n.fingerprint, s.metric, s.from_place, s.to_place, s.axes, k.run + ?1, t.text"
     " FROM skip k JOIN series s ON s.id = k.series" OF_NODE "s.node JOIN text t ON t.id = k.why",
     "INSERT INTO skip (series, run, why) VALUES (" SERIES
     ", ?6, (SELECT id FROM text WHERE text = ?7))"},
    {"SELECT run + ?1, code, severity, place, text, since_s, metric, to_place FROM note ORDER BY "
     "id",
     "INSERT INTO note (run, code, severity, place, text, since_s, metric, to_place) VALUES (?1, "
     "?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
    {"SELECT n.fingerprint, f.metric, f.flows, f.measured_s FROM flow_set f" OF_NODE "f.node",
     "INSERT INTO flow_set (node, metric, flows, measured_s) VALUES (" NODE ", ?2, ?3, ?4)"
     " ON CONFLICT (node, metric, flows) DO UPDATE SET measured_s = max(measured_s, "
     "excluded.measured_s)"},
    {"SELECT n.fingerprint, f.metric, f.flows, r.measured_s, r.flow, r.bytes_per_s, r.low, "
     "r.high"
     " FROM flow_rate r JOIN flow_set f ON f.id = r.flow_set" OF_NODE "f.node",
     "INSERT OR REPLACE INTO flow_rate (flow_set, measured_s, flow, bytes_per_s, low, high)"
     " VALUES ((SELECT id FROM flow_set WHERE node = " NODE
     " AND metric = ?2 AND flows = ?3), ?4, ?5, ?6, ?7, ?8)"},
};

/* Deletes the file's baselines, except newer ones, of series accepted without knowledge of them. */
static const struct pump accepted[] = {
    {"SELECT n.fingerprint, b.metric, b.from_place, b.to_place, b.axes, b.begun_s"
     " FROM baseline b" OF_NODE "b.node WHERE b.accepted",
     "DELETE FROM baseline WHERE node = " NODE " AND metric = ?2 AND from_place = ?3"
     " AND to_place = ?4 AND axes = ?5 AND begun_s <= ?6"},
};

/* Tables copied whole in both directions. A column "node" refers to a node's row; row ids are
 * omitted. */
static const char *const state_tables[] = {"baseline", "finding", "expected_place", NULL};
/* Rows in the last one mean that memory has all claims. */
static const char *const claim_tables[] = {"claim", "claim_generation", NULL};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum berth_code pump_rows(sqlite3 *from, sqlite3 *to, const struct pump *pump,
                                 int64_t add_to_run, struct berth_err *err)
{
    sqlite3_stmt *select = NULL, *insert = NULL;
    enum berth_code code = BERTH_OK;
    int rc = SQLITE_DONE;
    if (sqlite3_prepare_v2(from, pump->select, -1, &select, NULL) != SQLITE_OK)
        code = store_db_error(from, "reading rows to copy", err);
    else if (sqlite3_prepare_v2(to, pump->insert, -1, &insert, NULL) != SQLITE_OK)
        code = store_db_error(to, "writing copied rows", err);
    if (code == BERTH_OK && sqlite3_bind_parameter_count(select) > 0)
        sqlite3_bind_int64(select, 1, add_to_run);
    while (code == BERTH_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(select) && code == BERTH_OK; i++)
            if (sqlite3_bind_value(insert, i + 1, sqlite3_column_value(select, i)) != SQLITE_OK)
                code = store_db_error(to, "writing copied rows", err);
        if (code == BERTH_OK && sqlite3_step(insert) != SQLITE_DONE)
            code = store_db_error(to, "writing copied rows", err);
        sqlite3_reset(insert);
    }
    if (code == BERTH_OK && rc != SQLITE_DONE)
        code = store_db_error(from, "reading rows to copy", err);
    sqlite3_finalize(select);
    sqlite3_finalize(insert);
    return code;
}

/* Copies a table, with its columns listed for SELECT and INSERT. Both databases have the newest
 * schema. */
static enum berth_code copy_table(sqlite3 *from, sqlite3 *to, const char *table, const char *verb,
                                  struct berth_err *err)
{
    char select[1024], insert[1024], names[400] = "", shown[500] = "", values[300] = "";
    sqlite3_stmt *column = NULL;
    int at = 0, rc;
    if (sqlite3_prepare_v2(
            to,
            "SELECT name FROM pragma_table_info(?1) WHERE NOT (name = 'id' AND type = 'INTEGER')",
            -1, &column, NULL) != SQLITE_OK)
        return store_db_error(to, "reading the columns to copy", err);
    sqlite3_bind_text(column, 1, table, -1, SQLITE_STATIC);
    while ((rc = sqlite3_step(column)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(column, 0),
                   *comma = at++ > 0 ? ", " : "";
        bool is_node = strcmp(name, "node") == 0;
        size_t used = strlen(names), used_shown = strlen(shown), used_values = strlen(values);
        snprintf(names + used, sizeof names - used, "%s%s", comma, name);
        snprintf(shown + used_shown, sizeof shown - used_shown,
                 is_node ? "%s(SELECT fingerprint FROM node WHERE id = %s.node)" : "%s%s", comma,
                 is_node ? table : name);
        snprintf(values + used_values, sizeof values - used_values,
                 is_node ? "%s(SELECT id FROM node WHERE fingerprint = ?%d)" : "%s?%d", comma, at);
    }
    sqlite3_finalize(column);
    if (rc != SQLITE_DONE)
        return store_db_error(to, "reading the columns to copy", err);
    snprintf(select, sizeof select, "SELECT %s FROM %s", shown, table);
    snprintf(insert, sizeof insert, "%s INTO %s (%s) VALUES (%s)", verb, table, names, values);
    return pump_rows(from, to, &(struct pump){select, insert}, 0, err);
}

static enum berth_code pump_all(sqlite3 *from, sqlite3 *to, const struct pump *pump, size_t count,
                                int64_t add_to_run, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < count && code == BERTH_OK; i++)
        code = pump_rows(from, to, &pump[i], add_to_run, err);
    return code;
}

static enum berth_code copy_tables(sqlite3 *from, sqlite3 *to, const char *const *tables,
                                   const char *verb, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (; *tables != NULL && code == BERTH_OK; tables++)
        code = copy_table(from, to, *tables, verb, err);
    return code;
}

static enum berth_code ended(sqlite3 *db, enum berth_code code, struct berth_err *err)
{
    if (code == BERTH_OK)
        code = store_db_exec(db, "COMMIT", "writing copied rows", err);
    if (code != BERTH_OK)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

enum berth_code store_memory_db_fill(sqlite3 *file, sqlite3 *memory, struct berth_err *err)
{
    enum berth_code code = store_db_exec(memory, "BEGIN", "copying the state", err);
    if (code != BERTH_OK)
        return code;
    code = pump_all(file, memory, machines, COUNT(machines), 0, err);
    if (code == BERTH_OK)
        code = copy_tables(file, memory, state_tables, "INSERT", err);
    if (code == BERTH_OK)
        code = copy_tables(file, memory, claim_tables, "INSERT", err);
    return ended(memory, code, err);
}

static enum berth_code replace_tables(sqlite3 *from, sqlite3 *to, const char *const *tables,
                                      struct berth_err *err)
{
    char sql[80];
    enum berth_code code = BERTH_OK;
    for (const char *const *table = tables; *table != NULL && code == BERTH_OK; table++) {
        snprintf(sql, sizeof sql, "DELETE FROM %s", *table);
        code = store_db_exec(to, sql, "writing copied rows", err);
    }
    return code == BERTH_OK ? copy_tables(from, to, tables, "INSERT", err) : code;
}

enum berth_code store_memory_db_merge(sqlite3 *memory, bool has_state, sqlite3 *file,
                                      struct berth_err *err)
{
    int64_t last_run = 0, has_claims = 0;
    if (!sqlite3_get_autocommit(file)) /* memory ran out even for undoing the last try */
        sqlite3_exec(file, "ROLLBACK", NULL, NULL, NULL);
    enum berth_code code = store_db_exec(file, "BEGIN IMMEDIATE", "beginning to write", err);
    if (code != BERTH_OK)
        return code;
    code = store_db_number(file,
                           "SELECT max(coalesce((SELECT max(id) FROM run), 0), coalesce((SELECT "
                           "max(run) FROM series), 0))",
                           &last_run, err);
    if (code == BERTH_OK)
        code = pump_all(memory, file, machines, COUNT(machines), 0, err);
    if (code == BERTH_OK)
        code = pump_all(memory, file, measured, COUNT(measured), last_run, err);
    if (code == BERTH_OK && !has_state)
        code = pump_all(memory, file, accepted, COUNT(accepted), 0, err);
    if (code == BERTH_OK)
        code = has_state ? replace_tables(memory, file, state_tables, err)
                         : copy_tables(memory, file, state_tables, "INSERT OR IGNORE", err);
    if (code == BERTH_OK)
        code = store_db_number(memory, "SELECT count(*) FROM claim_generation", &has_claims, err);
    if (code == BERTH_OK && has_claims > 0)
        code = replace_tables(memory, file, claim_tables, err);
    return ended(file, code, err);
}

void store_memory_db_bound(sqlite3 *memory, int64_t max_bytes)
{
    static const char used[] = "SELECT (page_count - freelist_count) * page_size FROM "
                               "pragma_page_count, pragma_freelist_count, pragma_page_size";
    static const char older_half[] =
        "BEGIN; CREATE TEMP TABLE old AS SELECT id FROM run WHERE is_thinned = 0 ORDER BY id"
        " LIMIT (SELECT count(*) / 2 FROM run WHERE is_thinned = 0);"
        "DELETE FROM fresh_value WHERE run IN (SELECT id FROM temp.old); DELETE FROM skip WHERE "
        "run IN (SELECT id FROM temp.old);"
        "DELETE FROM note WHERE run IN (SELECT id FROM temp.old) AND run NOT IN (SELECT run FROM "
        "probe);"
        "UPDATE run SET is_thinned = 1 WHERE id IN (SELECT id FROM temp.old);"
        "DELETE FROM run WHERE is_thinned = 1 AND id NOT IN (SELECT run FROM series) AND id NOT IN "
        "(SELECT run FROM probe)"
        " AND id NOT IN (SELECT run FROM note);"
        "DELETE FROM text WHERE NOT EXISTS (SELECT 1 FROM run WHERE conditions = text.id)"
        " AND NOT EXISTS (SELECT 1 FROM skip WHERE why = text.id) AND NOT EXISTS (SELECT 1 FROM "
        "series WHERE why = text.id);"
        "DROP TABLE temp.old; COMMIT";
    int64_t bytes = 0;
    struct berth_err err = {0};
    if (store_db_number(memory, used, &bytes, &err) == BERTH_OK && bytes > max_bytes &&
        sqlite3_exec(memory, older_half, NULL, NULL, NULL) != SQLITE_OK)
        /* memory ran out; the next call tries again */
        sqlite3_exec(memory, "ROLLBACK", NULL, NULL, NULL);
}
