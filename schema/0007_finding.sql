-- Whether another finding stands for it, which is listed in its place.
ALTER TABLE finding ADD COLUMN is_explained INTEGER NOT NULL DEFAULT 0;
