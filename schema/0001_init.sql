-- The first version of the store; see daemon/store/store.h.
--
-- A year of hourly measurements is millions of values, so a value's row is two small integers and its numbers, and what is
-- long stands once: a series says what is measured between which places, and text holds reasons and conditions.
PRAGMA application_id = 0x62727468; -- "brth"

CREATE TABLE node (
    id          INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL
) STRICT;

CREATE TABLE boot (
    id           INTEGER PRIMARY KEY,
    node         INTEGER NOT NULL REFERENCES node,
    boot_id      TEXT NOT NULL,
    first_seen_s INTEGER NOT NULL,
    kernel       TEXT,
    UNIQUE (node, boot_id)
) STRICT;

CREATE TABLE text (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE run (
    id         INTEGER PRIMARY KEY,
    boot       INTEGER NOT NULL REFERENCES boot,
    probe      TEXT NOT NULL,
    backend    TEXT NOT NULL,
    profile    TEXT NOT NULL,
    started_s  INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL,
    status     TEXT NOT NULL,
    conditions INTEGER REFERENCES text
) STRICT;

-- Each probe's latest run.
CREATE TABLE probe (
    node INTEGER NOT NULL REFERENCES node,
    name TEXT NOT NULL,
    run  INTEGER NOT NULL REFERENCES run,
    PRIMARY KEY (node, name)
) STRICT, WITHOUT ROWID;

-- run, value, low, high, n and why are the latest of the series: a start reads this table from end to end and no other.
-- Here and in value and skip, run is no REFERENCES: looking for the rows of a run means reading all of value.
CREATE TABLE series (
    id         INTEGER PRIMARY KEY,
    node       INTEGER NOT NULL REFERENCES node,
    metric     TEXT NOT NULL,
    from_place TEXT NOT NULL,
    to_place   TEXT NOT NULL,
    axes       TEXT NOT NULL,
    run        INTEGER NOT NULL,
    value      REAL,
    low        REAL,
    high       REAL,
    n          INTEGER NOT NULL,
    why        INTEGER REFERENCES text,
    UNIQUE (node, metric, from_place, to_place, axes),
    CHECK ((value IS NULL) = (why IS NOT NULL))
) STRICT;

CREATE TABLE value (
    series INTEGER NOT NULL REFERENCES series,
    run    INTEGER NOT NULL,
    value  REAL NOT NULL,
    low    REAL,
    high   REAL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (series, run)
) STRICT, WITHOUT ROWID;

-- A measurement that gave no value, and why.
CREATE TABLE skip (
    series INTEGER NOT NULL REFERENCES series,
    run    INTEGER NOT NULL,
    why    INTEGER NOT NULL REFERENCES text,
    PRIMARY KEY (series, run)
) STRICT, WITHOUT ROWID;

-- What went wrong in a run.
CREATE TABLE note (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES run,
    code     TEXT NOT NULL,
    severity INTEGER NOT NULL,
    place    TEXT NOT NULL,
    text     TEXT NOT NULL,
    since_s  INTEGER NOT NULL
) STRICT;
CREATE INDEX note_of_run ON note (run);
