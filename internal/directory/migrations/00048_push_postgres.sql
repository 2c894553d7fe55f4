-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE push_subscriptions
    ALTER COLUMN session_id TYPE TEXT COLLATE "C",
    ALTER COLUMN user_id TYPE TEXT COLLATE "C";
ALTER TABLE push_settings ALTER COLUMN user_id TYPE TEXT COLLATE "C";
ALTER TABLE push_jobs
    ALTER COLUMN session_id TYPE TEXT COLLATE "C",
    ALTER COLUMN conversation TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
