-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE retention
    ALTER COLUMN conversation TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
