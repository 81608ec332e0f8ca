-- Time since which another finding explains it and is listed instead (NULL: none; 0: since it
-- appeared).
ALTER TABLE finding ADD COLUMN explained_s INTEGER;
