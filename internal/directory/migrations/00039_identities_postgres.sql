-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE identities ALTER COLUMN id TYPE TEXT COLLATE "C";
ALTER TABLE identities ALTER COLUMN user_id TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
