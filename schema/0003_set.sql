-- Transfers measured concurrently; see daemon/store/set.c.
--
-- flows names them: a line for each, "from to axes", in the order of flow in flow_rate, which has
-- their rates.
CREATE TABLE flow_set (
    id         INTEGER PRIMARY KEY,
    node       INTEGER NOT NULL REFERENCES node,
    metric     TEXT NOT NULL,
    flows      TEXT NOT NULL,
    measured_s INTEGER NOT NULL, -- the latest
    UNIQUE (node, metric, flows)
);

CREATE TABLE flow_rate (
    flow_set    INTEGER NOT NULL REFERENCES flow_set,
    measured_s  INTEGER NOT NULL,
    flow        INTEGER NOT NULL, -- 0, 1, 2, ...
    bytes_per_s REAL NOT NULL,
    low         REAL,
    high        REAL,
    PRIMARY KEY (flow_set, measured_s, flow)
) WITHOUT ROWID;
