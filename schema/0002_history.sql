-- Years of history in little room, and what taking the oldest of it away needs; see daemon/store/retention.h.
--
-- low and high are most often close to value. An INTEGER there says by how many thousand-millionths of value low lies below it and
-- high above it, in half the room and certain to eight digits; a REAL is the bound itself. The view history shows all of them as bounds.
CREATE TABLE settled_value (
    series INTEGER NOT NULL REFERENCES series,
    run    INTEGER NOT NULL,
    value  REAL NOT NULL,
    low    ANY,
    high   ANY,
    n      INTEGER NOT NULL,
    PRIMARY KEY (series, run)
) STRICT, WITHOUT ROWID;
INSERT INTO settled_value
    SELECT series, run, value,
           iif(low / value BETWEEN 0.1 AND 3, CAST(round((value - low) / value * 1e9) AS INTEGER), low),
           iif(high / value BETWEEN 0.1 AND 3, CAST(round((high - value) / value * 1e9) AS INTEGER), high), n
      FROM value ORDER BY series, run;
DROP TABLE value;

-- Where a value is first. A run is written side by side here, into a few pages, and once a day what has come is sorted into settled_value, where
-- each series has pages of its own: written there at once, every value would cost a page.
CREATE TABLE fresh_value (
    run    INTEGER NOT NULL,
    series INTEGER NOT NULL,
    value  REAL NOT NULL,
    low    ANY,
    high   ANY,
    n      INTEGER NOT NULL,
    PRIMARY KEY (run, series)
) STRICT, WITHOUT ROWID;

-- Whose values are in settled_value. Until it is 1 those in fresh_value count, and what is in settled_value is a copy under way.
ALTER TABLE run ADD COLUMN is_settled INTEGER NOT NULL DEFAULT 0;
UPDATE run SET is_settled = 1;
CREATE INDEX run_fresh ON run (id) WHERE is_settled = 0;

CREATE VIEW value AS
    SELECT series, run, value, low, high, n FROM settled_value WHERE run NOT IN (SELECT id FROM run WHERE is_settled = 0)
    UNION ALL SELECT series, run, value, low, high, n FROM fresh_value;

-- What is left of the values of one UTC day when they are too old to be kept one by one: their median, the lowest and the highest
-- of them, and how many they were.
CREATE TABLE day (
    series INTEGER NOT NULL REFERENCES series,
    day    INTEGER NOT NULL, -- since 1970-01-01
    value  REAL NOT NULL,
    low    REAL NOT NULL,
    high   REAL NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (series, day)
) STRICT, WITHOUT ROWID;

-- A run whose values have become medians, and which stays because it is the latest of a series or a probe.
ALTER TABLE run ADD COLUMN is_thinned INTEGER NOT NULL DEFAULT 0;

-- To find the oldest runs, and who else uses a text.
CREATE INDEX run_by_time ON run (started_s) WHERE is_thinned = 0;
CREATE INDEX run_by_conditions ON run (conditions) WHERE conditions IS NOT NULL;
CREATE INDEX skip_by_why ON skip (why);
CREATE INDEX series_by_why ON series (why) WHERE why IS NOT NULL;

-- For people with sqlite3.
CREATE VIEW history AS
    SELECT s.metric, s.from_place, s.to_place, s.axes, r.started_s AS measured_at_s, v.value,
           iif(typeof(v.low) = 'integer', v.value - v.value * v.low * 1e-9, v.low) AS low,
           iif(typeof(v.high) = 'integer', v.value + v.value * v.high * 1e-9, v.high) AS high, v.n, v.run
      FROM value v JOIN series s ON s.id = v.series JOIN run r ON r.id = v.run;
