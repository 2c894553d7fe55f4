-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE group_links
    ALTER COLUMN code TYPE TEXT COLLATE "C",
    ALTER COLUMN conversation TYPE TEXT COLLATE "C",
    ALTER COLUMN creator TYPE TEXT COLLATE "C";
ALTER TABLE group_requests
    ALTER COLUMN conversation TYPE TEXT COLLATE "C",
    ALTER COLUMN user_id TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
