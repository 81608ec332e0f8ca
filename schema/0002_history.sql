-- Compact history of years, and indices for deleting the oldest; see daemon/store/retention.h.
--
-- low and high are mostly close to value. An INTEGER is the distance in thousand-millionths of
-- value, below it for low and above it for high. It takes half the room and keeps eight digits. A
-- REAL is the bound itself. Without a type in the table, SQLite converts neither into the other. The
-- view history has all of them as bounds.
CREATE TABLE settled_value (
    series INTEGER NOT NULL REFERENCES series,
    run    INTEGER NOT NULL,
    value  REAL NOT NULL,
    low,
    high,
    n      INTEGER NOT NULL,
    PRIMARY KEY (series, run)
) WITHOUT ROWID;
INSERT INTO settled_value
    SELECT series, run, value,
           iif(low / value BETWEEN 0.1 AND 3, CAST(round((value - low) / value * 1e9) AS INTEGER), low),
           iif(high / value BETWEEN 0.1 AND 3, CAST(round((high - value) / value * 1e9) AS INTEGER), high), n
      FROM value ORDER BY series, run;
DROP TABLE value;

-- First table of a value. A run's values are adjacent here, in a few pages. Once a day they are
-- sorted into settled_value, where each series has its own pages; direct writes there would cost a
-- page for each value.
CREATE TABLE fresh_value (
    run    INTEGER NOT NULL,
    series INTEGER NOT NULL,
    value  REAL NOT NULL,
    low,
    high,
    n      INTEGER NOT NULL,
    PRIMARY KEY (run, series)
) WITHOUT ROWID;

-- 1: the run's values are in settled_value. 0: those in fresh_value count, and those in
-- settled_value are an unfinished copy.
ALTER TABLE run ADD COLUMN is_settled INTEGER NOT NULL DEFAULT 0;
UPDATE run SET is_settled = 1;
CREATE INDEX run_fresh ON run (id) WHERE is_settled = 0;

CREATE VIEW value AS
    SELECT series, run, value, low, high, n FROM settled_value WHERE run NOT IN (SELECT id FROM run WHERE is_settled = 0)
    UNION ALL SELECT series, run, value, low, high, n FROM fresh_value;

-- Rest of one UTC day when its values are too old to be kept: their median, the lowest, the highest
-- and their number.
CREATE TABLE day (
    series INTEGER NOT NULL REFERENCES series,
    day    INTEGER NOT NULL, -- since 1970-01-01
    value  REAL NOT NULL,
    low    REAL NOT NULL,
    high   REAL NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (series, day)
) WITHOUT ROWID;

-- 1: the run's values have become medians; the run stays as the latest of a series or a probe.
ALTER TABLE run ADD COLUMN is_thinned INTEGER NOT NULL DEFAULT 0;

-- For finding the oldest runs, and other users of a text.
CREATE INDEX run_by_time ON run (started_s) WHERE is_thinned = 0;
CREATE INDEX run_by_conditions ON run (conditions) WHERE conditions IS NOT NULL;
CREATE INDEX skip_by_why ON skip (why);
CREATE INDEX series_by_why ON series (why) WHERE why IS NOT NULL;

-- For users of sqlite3.
CREATE VIEW history AS
    SELECT s.metric, s.from_place, s.to_place, s.axes, r.started_s AS measured_at_s, v.value,
           iif(typeof(v.low) = 'integer', v.value - v.value * v.low * 1e-9, v.low) AS low,
           iif(typeof(v.high) = 'integer', v.value + v.value * v.high * 1e-9, v.high) AS high, v.n, v.run
      FROM value v JOIN series s ON s.id = v.series JOIN run r ON r.id = v.run;
