-- +goose Up

-- What a user shows besides a name, as JSON (im.Profile); '': nothing.
ALTER TABLE users ADD COLUMN profile TEXT NOT NULL DEFAULT '';

-- Users whose contacts are to be told that the profile is another: up to which contact
-- they are, and whether it changed again since that began.
CREATE TABLE profile_news (
    user_id TEXT    NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    told    TEXT    NOT NULL DEFAULT '',
    again   BOOLEAN NOT NULL DEFAULT FALSE
);

-- +goose Down
DROP TABLE profile_news;
ALTER TABLE users DROP COLUMN profile;
