-- Expected values of a node, and its findings; see daemon/health/baseline.h,
-- daemon/measure/history.h and daemon/health/assessment.h.

-- A row for each series ever measured or imported. It has no reference to series, because an import
-- may come first. samples are the values behind median and deviation, in order of measurement, as
-- doubles in native byte order.
CREATE TABLE baseline (
    node       INTEGER NOT NULL REFERENCES node,
    metric     TEXT NOT NULL,
    from_place TEXT NOT NULL,
    to_place   TEXT NOT NULL,
    axes       TEXT NOT NULL,
    median     REAL NOT NULL,
    deviation  REAL NOT NULL,
    begun_s    INTEGER NOT NULL,
    accepted   INTEGER NOT NULL,
    worse_runs INTEGER NOT NULL,
    is_overloaded INTEGER NOT NULL,
    low_runs   INTEGER NOT NULL,
    samples    BLOB NOT NULL,
    PRIMARY KEY (node, metric, from_place, to_place, axes)
) WITHOUT ROWID;

-- cleared_s is NULL while it is open; severity, text and numbers are the latest. critical_s: when an
-- open one became critical (NULL: not critical, or unknown). was_accepted: it cleared because its
-- object was accepted. explained_s: since when another finding explains it and is listed instead
-- (NULL: none; 0: since it appeared). is_unconfirmed: one measurement saw it, and a second is to
-- confirm it; it is dropped when that does not. event: number that findings of one cause and about
-- one time share, at most the least of their ids.
CREATE TABLE finding (
    id        INTEGER PRIMARY KEY,
    node      INTEGER NOT NULL REFERENCES node,
    code      TEXT NOT NULL,
    place     TEXT NOT NULL,
    subject   TEXT NOT NULL,
    severity  INTEGER NOT NULL,
    text      TEXT NOT NULL,
    value     REAL,
    expected  REAL,
    unit      TEXT,
    opened_s  INTEGER NOT NULL,
    cleared_s INTEGER,
    critical_s     INTEGER,
    was_accepted   INTEGER NOT NULL DEFAULT 0,
    explained_s    INTEGER,
    is_unconfirmed INTEGER NOT NULL,
    event     INTEGER NOT NULL
);
CREATE UNIQUE INDEX finding_standing ON finding (node, code, place, subject) WHERE cleared_s IS NULL;
CREATE INDEX finding_event ON finding (event);

-- Hardware that a machine of this name had and should still have, by PCI address, or by the place's
-- name without one.
CREATE TABLE expected_place (
    machine  TEXT NOT NULL,
    identity TEXT NOT NULL,
    kind     TEXT NOT NULL,
    place    TEXT NOT NULL,
    model    TEXT,
    seen_s   INTEGER NOT NULL,
    PRIMARY KEY (machine, identity)
) WITHOUT ROWID;
