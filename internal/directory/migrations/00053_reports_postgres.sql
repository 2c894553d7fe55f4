-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE reports
    ALTER COLUMN conversation TYPE TEXT COLLATE "C",
    ALTER COLUMN author TYPE TEXT COLLATE "C",
    ALTER COLUMN reporter TYPE TEXT COLLATE "C",
    ALTER COLUMN decided_by TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
