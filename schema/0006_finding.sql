-- Since when a finding that stands is critical (NULL: it is not, or nobody knows), and whether it cleared because what it was about was accepted.
ALTER TABLE finding ADD COLUMN critical_s INTEGER;
ALTER TABLE finding ADD COLUMN was_accepted INTEGER NOT NULL DEFAULT 0;
