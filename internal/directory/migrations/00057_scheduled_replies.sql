-- +goose Up

-- thread: the root of the thread that the message is said in, 0: in none. also_in_main, 0 or
-- 1: it stands in the conversation's own line as well.
ALTER TABLE scheduled ADD COLUMN thread BIGINT NOT NULL DEFAULT 0;
ALTER TABLE scheduled ADD COLUMN also_in_main BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE scheduled DROP COLUMN also_in_main;
ALTER TABLE scheduled DROP COLUMN thread;
