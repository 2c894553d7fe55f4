-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE second_factors ALTER COLUMN user_id TYPE TEXT COLLATE "C";
ALTER TABLE recovery_codes ALTER COLUMN user_id TYPE TEXT COLLATE "C";
ALTER TABLE tickets ALTER COLUMN user_id TYPE TEXT COLLATE "C";
ALTER TABLE registration_links ALTER COLUMN id TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
