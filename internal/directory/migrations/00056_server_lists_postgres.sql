-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE wrote_first
    ALTER COLUMN user_id TYPE TEXT COLLATE "C",
    ALTER COLUMN peer_id TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
