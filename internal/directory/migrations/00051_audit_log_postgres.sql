-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE audit_log
    ALTER COLUMN actor TYPE TEXT COLLATE "C",
    ALTER COLUMN target TYPE TEXT COLLATE "C",
    ALTER COLUMN session TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
