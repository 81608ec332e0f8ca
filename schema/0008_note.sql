-- Cell in which a probe crashed or hung: the metric, from the note's place to this one ('': no cell).
ALTER TABLE note ADD COLUMN metric TEXT NOT NULL DEFAULT '';
ALTER TABLE note ADD COLUMN to_place TEXT NOT NULL DEFAULT '';
