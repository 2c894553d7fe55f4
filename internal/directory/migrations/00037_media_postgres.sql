-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE media
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN owner TYPE TEXT COLLATE "C";
ALTER TABLE media_pieces ALTER COLUMN media_id TYPE TEXT COLLATE "C";
ALTER TABLE media_names
    ALTER COLUMN conversation TYPE TEXT COLLATE "C",
    ALTER COLUMN sender TYPE TEXT COLLATE "C",
    ALTER COLUMN media_id TYPE TEXT COLLATE "C";
ALTER TABLE media_usage ALTER COLUMN owner TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
