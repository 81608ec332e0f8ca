-- Time when an open finding became critical (NULL: not critical, or unknown); and 1 if it cleared
-- because its object was accepted.
ALTER TABLE finding ADD COLUMN critical_s INTEGER;
ALTER TABLE finding ADD COLUMN was_accepted INTEGER NOT NULL DEFAULT 0;
