#include "store/finding.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/core.h"

enum statement {
    OPEN_OR_UPDATE,
    FIND_OPEN,
    MARK,
    DELETE_UNCONFIRMED,
    CLEAR,
    CLEAR_ELSEWHERE,
    DELETE_OLD,
    JOIN,
    STANDING,
    STATEMENTS
};

/* Within the transaction confirmed rows have cleared_s -1; rows still at NULL have cleared. */
static const char *const sql[STATEMENTS] = {
    [OPEN_OR_UPDATE] = "INSERT INTO finding (node, code, place, subject, severity, text, value, "
                       "expected, unit, opened_s, critical_s, explained_s, is_unconfirmed, "
                       "event)"
                       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?14, (SELECT "
                       "coalesce(max(id), 0) + 1 FROM finding)) ON CONFLICT "
                       "(node, code, place, subject) WHERE cleared_s IS NULL DO UPDATE SET"
                       " severity = excluded.severity, text = excluded.text, value = "
                       "excluded.value, expected = excluded.expected, is_unconfirmed = "
                       "excluded.is_unconfirmed,"
                       " explained_s = CASE WHEN excluded.explained_s IS NOT NULL THEN "
                       "coalesce(explained_s, ?13) END,"
                       " critical_s = CASE WHEN excluded.critical_s IS NULL OR severity <> "
                       "excluded.severity THEN excluded.critical_s ELSE critical_s END",
    [FIND_OPEN] = "SELECT id FROM finding WHERE node = ?1 AND code = ?2 AND place = ?3 AND "
                  "subject = ?4 AND cleared_s IS NULL",
    [MARK] = "UPDATE finding SET cleared_s = ?2 WHERE id = ?1",
    [DELETE_UNCONFIRMED] =
        "DELETE FROM finding WHERE node = ?1 AND cleared_s IS NULL AND is_unconfirmed",
    [CLEAR] = "UPDATE finding SET cleared_s = ?2, was_accepted = ?3 WHERE node = ?1 AND cleared_s "
              "IS NULL",
    [CLEAR_ELSEWHERE] =
        "UPDATE finding SET cleared_s = ?2 WHERE cleared_s IS NULL AND node IN"
        " (SELECT o.id FROM node o JOIN node n ON n.name = o.name WHERE n.id = ?1 AND o.id <> ?1)",
    [DELETE_OLD] =
        "DELETE FROM finding WHERE cleared_s IS NOT NULL AND id <="
        " (SELECT id FROM finding WHERE cleared_s IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET ?1)",
    /* the rows of both events get the lower number */
    [JOIN] = "UPDATE finding SET event = (SELECT min(event) FROM finding WHERE id IN (?1, ?2))"
             " WHERE event = (SELECT max(event) FROM finding WHERE id IN (?1, ?2))"
             " AND event <> (SELECT min(event) FROM finding WHERE id IN (?1, ?2))",
    [STANDING] = "SELECT code, place, subject, opened_s, is_unconfirmed, severity, value, expected "
                 "FROM finding WHERE node = ?1 AND cleared_s IS NULL",
};

struct keeping {
    const struct assessment *assessment;
    int64_t now_s;
    bool is_acceptance;
    sqlite3_stmt *statement[STATEMENTS];
    int64_t *id;           /* one for each finding of the assessment */
    int64_t *id_of_number; /* the same by its number, from 1 */
    struct opened *opened;
    size_t count;
};

static enum berth_code write_finding(struct store *store, struct keeping *keeping, size_t i,
                                     struct berth_err *err)
{
    const struct finding *finding = &keeping->assessment->finding[i];
    sqlite3_stmt *insert = keeping->statement[OPEN_OR_UPDATE];
    for (enum statement which = OPEN_OR_UPDATE; which <= FIND_OPEN; which++) {
        sqlite3_bind_int64(keeping->statement[which], 1, store->node);
        store_core_bind_text(keeping->statement[which], 2, finding->code);
        store_core_bind_text(keeping->statement[which], 3, finding->place);
        store_core_bind_text(keeping->statement[which], 4, finding->subject);
    }
    sqlite3_bind_int(insert, 5, (int)finding->severity);
    store_core_bind_text(insert, 6, finding->text);
    store_core_bind_number(insert, 7, finding->value);
    store_core_bind_number(insert, 8, finding->expected);
    store_core_bind_text(insert, 9, finding->unit);
    int64_t at_s =
        finding->at_s > 0 && finding->at_s < keeping->now_s ? finding->at_s : keeping->now_s;
    sqlite3_bind_int64(insert, 10, at_s);
    if (finding->severity == SEVERITY_CRITICAL)
        sqlite3_bind_int64(insert, 11, at_s);
    else
        sqlite3_bind_null(insert, 11);
    if (finding->explained_by != 0)
        sqlite3_bind_int(insert, 12, 0);
    else
        sqlite3_bind_null(insert, 12);
    sqlite3_bind_int64(insert, 13, keeping->now_s);
    sqlite3_bind_int(insert, 14, finding->is_unconfirmed);
    return store_core_upsert(store, insert, keeping->statement[FIND_OPEN], "writing a finding",
                             &keeping->id[i], err);
}

static enum berth_code mark(struct store *store, struct keeping *keeping, enum statement which,
                            int64_t id, int64_t cleared_s, bool is_null, struct berth_err *err)
{
    sqlite3_stmt *update = keeping->statement[which];
    sqlite3_bind_int64(update, 1, id);
    if (is_null)
        sqlite3_bind_null(update, 2);
    else
        sqlite3_bind_int64(update, 2, cleared_s);
    return store_core_step(store, update, "clearing findings", NULL, err);
}

/* Gives findings of one cause and about one time the same event. */
static enum berth_code join_events(struct store *store, struct keeping *keeping,
                                   struct berth_err *err)
{
    const struct assessment *assessment = keeping->assessment;
    sqlite3_stmt *join = keeping->statement[JOIN];
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < assessment->count; i++)
        keeping->id_of_number[assessment->finding[i].number] = keeping->id[i];
    for (size_t i = 0; i < assessment->count && code == BERTH_OK; i++) {
        if (assessment->finding[i].represented_by == 0)
            continue;
        sqlite3_bind_int64(join, 1, keeping->id[i]);
        sqlite3_bind_int64(join, 2, keeping->id_of_number[assessment->finding[i].represented_by]);
        code = store_core_step(store, join, "joining findings", NULL, err);
    }
    return code;
}

/* Clears the other findings: marks the current ones, drops the unconfirmed rest, clears the others,
 * and unmarks them. Two of the current ones may be the same. */
static enum berth_code clear_others(struct store *store, struct keeping *keeping,
                                    struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    size_t count = keeping->assessment->count;
    for (size_t i = 0; i < count && code == BERTH_OK; i++)
        code = mark(store, keeping, MARK, keeping->id[i], -1, false, err);
    if (code == BERTH_OK)
        sqlite3_bind_int64(keeping->statement[DELETE_UNCONFIRMED], 1, store->node);
    if (code == BERTH_OK)
        code = store_core_step(store, keeping->statement[DELETE_UNCONFIRMED],
                               "dropping unconfirmed findings", NULL, err);
    if (code == BERTH_OK)
        sqlite3_bind_int(keeping->statement[CLEAR], 3, keeping->is_acceptance);
    if (code == BERTH_OK)
        code = mark(store, keeping, CLEAR, store->node, keeping->now_s, false, err);
    for (size_t i = 0; i < count && code == BERTH_OK; i++)
        code = mark(store, keeping, MARK, keeping->id[i], 0, true, err);
    return code;
}

/* The file may hold any number. */
static enum severity read_severity(sqlite3_stmt *row, int column)
{
    int64_t severity = sqlite3_column_int64(row, column);
    return severity <= SEVERITY_INFO       ? SEVERITY_INFO
           : severity >= SEVERITY_CRITICAL ? SEVERITY_CRITICAL
                                           : SEVERITY_WARNING;
}

static enum berth_code add_standing(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    struct keeping *keeping = arg;
    if (!grow_by_one(&keeping->opened, keeping->count, sizeof *keeping->opened))
        return err_set(err, BERTH_NO_MEMORY, "no memory for %zu findings", keeping->count + 1);
    struct opened *opened = &keeping->opened[keeping->count++];
    store_core_copy(row, 0, opened->code, sizeof opened->code);
    store_core_copy(row, 1, opened->place, sizeof opened->place);
    store_core_copy(row, 2, opened->subject, sizeof opened->subject);
    opened->since_s = sqlite3_column_int64(row, 3);
    opened->is_unconfirmed = sqlite3_column_int(row, 4) != 0;
    opened->severity = (int)read_severity(row, 5);
    opened->value = store_core_number(row, 6);
    opened->expected = store_core_number(row, 7);
    return BERTH_OK;
}

static enum berth_code keep_all(struct store *store, void *arg, struct berth_err *err)
{
    struct keeping *keeping = arg;
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < keeping->assessment->count && code == BERTH_OK; i++)
        code = write_finding(store, keeping, i, err);
    if (code == BERTH_OK)
        code = join_events(store, keeping, err);
    if (code == BERTH_OK && !keeping->assessment->is_cut)
        code = clear_others(store, keeping, err);
    if (code == BERTH_OK) /* found when the machine had other hardware */
        code = mark(store, keeping, CLEAR_ELSEWHERE, store->node, keeping->now_s, false, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(keeping->statement[DELETE_OLD], 1, STORE_FINDINGS_MAX);
        code = store_core_step(store, keeping->statement[DELETE_OLD], "forgetting old findings",
                               NULL, err);
    }
    if (code != BERTH_OK)
        return code;
    sqlite3_bind_int64(keeping->statement[STANDING], 1, store->node);
    return store_core_each(store, keeping->statement[STANDING], "reading findings", add_standing,
                           keeping, err);
}

enum berth_code store_finding_opened(struct store *store, struct opened **ret_opened,
                                     size_t *ret_count, struct berth_err *err)
{
    struct keeping keeping = {0};
    sqlite3_stmt *row = NULL;
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store, sql[STANDING], &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_each(store, row, "reading findings", add_standing, &keeping, err);
    }
    sqlite3_finalize(row);
    code = store_core_done(store, code);
    if (code != BERTH_OK) {
        free(keeping.opened);
        return code;
    }
    *ret_opened = keeping.opened;
    *ret_count = keeping.count;
    return BERTH_OK;
}

enum berth_code store_finding_keep(struct store *store, const struct assessment *assessment,
                                   int64_t now_s, bool is_acceptance, struct opened **ret_opened,
                                   size_t *ret_count, struct berth_err *err)
{
    struct keeping keeping = {.assessment = assessment,
                              .now_s = now_s,
                              .is_acceptance = is_acceptance,
                              .id = calloc(2 * assessment->count + 1, sizeof(int64_t))};
    if (keeping.id == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    keeping.id_of_number = &keeping.id[assessment->count];
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    for (int i = 0; i < STATEMENTS && code == BERTH_OK; i++)
        code = store_core_prepare(store, sql[i], &keeping.statement[i], err);
    if (code == BERTH_OK)
        code = store_core_transact(store, keep_all, &keeping, err);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(keeping.statement[i]);
    code = store_core_done(store, code);
    free(keeping.id);
    if (code != BERTH_OK) {
        free(keeping.opened);
        return code;
    }
    *ret_opened = keeping.opened;
    *ret_count = keeping.count;
    return BERTH_OK;
}

static void read_kept(sqlite3_stmt *row, struct finding_kept *kept)
{
    *kept = (struct finding_kept){.cleared_s = sqlite3_column_int64(row, 9),
                                  .critical_s = sqlite3_column_int64(row, 10),
                                  .was_accepted = sqlite3_column_int(row, 11) != 0,
                                  .event = sqlite3_column_int64(row, 12),
                                  .series = (size_t)sqlite3_column_int64(row, 13)};
    struct finding *finding = &kept->finding;
    finding->severity = read_severity(row, 3);
    store_core_copy(row, 0, finding->code, sizeof finding->code);
    store_core_copy(row, 1, finding->place, sizeof finding->place);
    store_core_copy(row, 2, finding->subject, sizeof finding->subject);
    store_core_copy(row, 4, finding->text, sizeof finding->text);
    finding->value = store_core_number(row, 5);
    finding->expected = store_core_number(row, 6);
    store_core_copy(row, 7, kept->unit, sizeof kept->unit);
    finding->since_s = sqlite3_column_int64(row, 8);
}

enum berth_code store_finding_list(struct store *store, int64_t since_s, size_t max,
                                   struct finding_kept **ret_finding, size_t *ret_count,
                                   struct berth_err *err)
{
    /* shown: findings with the time of their end; event: events that have changed; part: of an open
     * event the open findings, of another all */
    static const char list[] =
        "WITH shown AS (SELECT *, coalesce(explained_s, cleared_s) AS end_s FROM finding WHERE node"
        " IN (SELECT o.id FROM node o JOIN node n ON n.name = o.name WHERE n.id = ?1)"
        " AND explained_s IS NOT 0 AND NOT is_unconfirmed),"
        " past AS (SELECT event, min(opened_s) AS since_s, max(coalesce(end_s, opened_s)) AS"
        " changed_s, iif(count(end_s) = count(*), max(end_s), NULL) AS gone_s,"
        " min(was_accepted AND explained_s IS NULL) AS accepted FROM shown GROUP BY event),"
        " part AS (SELECT *, row_number() OVER worst AS number, count(*) OVER (PARTITION BY event)"
        " AS count, min(critical_s) OVER (PARTITION BY event) AS first_critical_s"
        " FROM shown JOIN past USING (event)"
        " WHERE changed_s >= ?2 AND (end_s IS NULL OR gone_s IS NOT NULL)"
        " WINDOW worst AS (PARTITION BY event ORDER BY severity DESC,"
        " max(value / expected, expected / value) DESC, id))"
        " SELECT code, place, subject, severity, text, value, expected, unit, since_s, gone_s,"
        " first_critical_s, accepted, event, count FROM part WHERE number <= ?4"
        " ORDER BY changed_s DESC, event DESC, number LIMIT ?3";
    struct finding_kept *finding = calloc(max, sizeof *finding);
    if (finding == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    sqlite3_stmt *row = NULL;
    size_t count = 0;
    int rc = SQLITE_DONE;
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store, list, &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        sqlite3_bind_int64(row, 2, since_s);
        sqlite3_bind_int64(row, 3, (int64_t)max);
        sqlite3_bind_int64(row, 4, STORE_FINDINGS_OF_EVENT);
        while (count < max && (rc = store_core_next(row)) == SQLITE_ROW)
            read_kept(row, &finding[count++]);
        if (count < max && rc != SQLITE_DONE)
            code = store_core_fail(store, "reading findings", err);
    }
    sqlite3_finalize(row);
    code = store_core_done(store, code);
    if (code != BERTH_OK) {
        free(finding);
        return code;
    }
    for (size_t i = 0; i < count; i++)
        finding[i].finding.unit = finding[i].unit[0] != '\0' ? finding[i].unit : NULL;
    *ret_finding = finding;
    *ret_count = count;
    return BERTH_OK;
}
