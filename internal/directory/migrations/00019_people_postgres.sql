-- +goose Up

-- Names are searched, and ids ordered, by their bytes.
ALTER TABLE users ALTER COLUMN search_name TYPE TEXT COLLATE "C";
ALTER TABLE contact_revisions ALTER COLUMN user_id TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
