-- +goose Up

-- Who sees whether a user is there (im.PresencePolicy); 0: contacts.
ALTER TABLE users ADD COLUMN presence_policy BIGINT NOT NULL DEFAULT 0;
-- Nobody sees how far they have read, and they see it of nobody.
ALTER TABLE users ADD COLUMN hide_reads BOOLEAN NOT NULL DEFAULT FALSE;

-- When a user was there last, as far as they are there no more.
CREATE TABLE last_seen (
    user_id TEXT   NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    seen_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE last_seen;
ALTER TABLE users DROP COLUMN hide_reads;
ALTER TABLE users DROP COLUMN presence_policy;
