-- The claims in force, as a whole: what is written down replaces what was there. Times are those of CLOCK_MONOTONIC, which the boot gives a
-- meaning: claims of another boot have ended.
CREATE TABLE claim (
    id            TEXT PRIMARY KEY,
    boot_id       TEXT NOT NULL,
    version       INTEGER NOT NULL,
    uid           INTEGER NOT NULL,
    purpose       TEXT NOT NULL,
    places        TEXT NOT NULL, -- names, comma separated
    configuration TEXT,
    key           TEXT,
    owner_pid     INTEGER,
    owner_start   INTEGER,
    owner_cgroup  TEXT,
    deadline_ns   INTEGER NOT NULL,
    plan_asked    TEXT,
    plan_answered TEXT,
    is_admins     INTEGER NOT NULL, -- 1: an administrator made it
    UNIQUE (uid, key)
) STRICT, WITHOUT ROWID;

-- How often the claims have changed: answers name it.
CREATE TABLE claim_generation (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    generation INTEGER NOT NULL
) STRICT;
