-- 1: one measurement saw it, and a second is to confirm it. Such a finding is dropped when it is not
-- confirmed.
ALTER TABLE finding ADD COLUMN is_unconfirmed INTEGER NOT NULL DEFAULT 0;
