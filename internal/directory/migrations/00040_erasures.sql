-- +goose Up

-- When the account was deleted; 0: it was not. The row stays, so that nobody gets the id again.
ALTER TABLE users ADD COLUMN deleted_at BIGINT NOT NULL DEFAULT 0;

-- What is to be done, or was, about users whose accounts were deleted. step is what comes
-- next, place where that goes on; messages: what they wrote is erased as well.
CREATE TABLE erasures (
    user_id  TEXT    NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    messages BOOLEAN NOT NULL,
    begun_at BIGINT  NOT NULL,
    done_at  BIGINT  NOT NULL DEFAULT 0,
    step     BIGINT  NOT NULL DEFAULT 0,
    place    TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX erasures_due ON erasures (begun_at) WHERE done_at = 0;

-- Usernames that nobody may take for a time, by SHA-256.
CREATE TABLE held_names (
    hash     BYTEA  NOT NULL PRIMARY KEY,
    until_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE held_names;
DROP TABLE erasures;
ALTER TABLE users DROP COLUMN deleted_at;
