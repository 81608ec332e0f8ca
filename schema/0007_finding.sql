-- Since when another finding stands for it, which is listed in its place (NULL: none does; 0: since it appeared).
ALTER TABLE finding ADD COLUMN explained_s INTEGER;
