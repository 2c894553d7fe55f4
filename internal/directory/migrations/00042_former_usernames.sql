-- +goose Up

-- Usernames that users had, and until when nobody else may take them.
CREATE TABLE former_usernames (
    name       TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    held_until BIGINT NOT NULL
);
CREATE INDEX former_usernames_user ON former_usernames (user_id);
CREATE INDEX former_usernames_end ON former_usernames (held_until);
-- When a user changed theirs themselves; 0: never.
ALTER TABLE users ADD COLUMN renamed_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN renamed_at;
DROP TABLE former_usernames;
