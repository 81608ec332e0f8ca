-- The claims in force; each write replaces all. Times are those of CLOCK_MONOTONIC, which depend on
-- the boot: claims of another boot have ended.
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
) WITHOUT ROWID;

-- Number of changes of the claims: answers include it.
CREATE TABLE claim_generation (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    generation INTEGER NOT NULL
);
