-- First version of the store; see daemon/store/store.h.
--
-- A year of hourly measurements has millions of values, so a value's row is two small integers and
-- its numbers. Long data is stored once: a series names metric and places, and text has reasons and
-- conditions.
PRAGMA application_id = 0x62727468; -- "brth"

CREATE TABLE node (
    id          INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL
);

CREATE TABLE boot (
    id           INTEGER PRIMARY KEY,
    node         INTEGER NOT NULL REFERENCES node,
    boot_id      TEXT NOT NULL,
    first_seen_s INTEGER NOT NULL,
    kernel       TEXT,
    UNIQUE (node, boot_id)
);

CREATE TABLE text (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);

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
);

-- The latest run of each probe.
CREATE TABLE probe (
    node INTEGER NOT NULL REFERENCES node,
    name TEXT NOT NULL,
    run  INTEGER NOT NULL REFERENCES run,
    PRIMARY KEY (node, name)
) WITHOUT ROWID;

-- run, value, low, high, n and why are the series' latest: a start reads only this table, from end
-- to end.
-- run is no REFERENCES here, in value and in skip: finding the rows of a run would read all of
-- value.
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
);

CREATE TABLE value (
    series INTEGER NOT NULL REFERENCES series,
    run    INTEGER NOT NULL,
    value  REAL NOT NULL,
    low    REAL,
    high   REAL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (series, run)
) WITHOUT ROWID;

-- A measurement without a value, and the reason.
CREATE TABLE skip (
    series INTEGER NOT NULL REFERENCES series,
    run    INTEGER NOT NULL,
    why    INTEGER NOT NULL REFERENCES text,
    PRIMARY KEY (series, run)
) WITHOUT ROWID;

-- Failures and remarks of a run. metric and to_place: the cell, from the note's place, in which a
-- probe crashed or hung ('': no cell).
CREATE TABLE note (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES run,
    code     TEXT NOT NULL,
    severity INTEGER NOT NULL,
    place    TEXT NOT NULL,
    text     TEXT NOT NULL,
    since_s  INTEGER NOT NULL,
    metric   TEXT NOT NULL DEFAULT '',
    to_place TEXT NOT NULL DEFAULT ''
);
CREATE INDEX note_of_run ON note (run);
