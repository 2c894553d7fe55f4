-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE erasures ALTER COLUMN user_id TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
