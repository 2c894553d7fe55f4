-- +goose Up

-- Several processes write: a promise's place comes from a sequence, so that two
-- never meet. It is in the order of nextval, which within a lock is that of time.
CREATE SEQUENCE outbox_places;

-- Ids are ordered by their bytes, whatever the locale of the database: pages of
-- lists are asked for by ids that other parts of the program compare.
ALTER TABLE users
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN username TYPE TEXT COLLATE "C";
ALTER TABLE sessions
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN user_id TYPE TEXT COLLATE "C";
ALTER TABLE tokens
    ALTER COLUMN session_id TYPE TEXT COLLATE "C";
ALTER TABLE contacts
    ALTER COLUMN user_id TYPE TEXT COLLATE "C",
    ALTER COLUMN peer_id TYPE TEXT COLLATE "C";
ALTER TABLE groups
    ALTER COLUMN conversation TYPE TEXT COLLATE "C",
    ALTER COLUMN owner TYPE TEXT COLLATE "C",
    ALTER COLUMN creator TYPE TEXT COLLATE "C",
    ALTER COLUMN request_id TYPE TEXT COLLATE "C";
ALTER TABLE memberships
    ALTER COLUMN user_id TYPE TEXT COLLATE "C",
    ALTER COLUMN conversation TYPE TEXT COLLATE "C";
ALTER TABLE outbox
    ALTER COLUMN conversation TYPE TEXT COLLATE "C",
    ALTER COLUMN sender TYPE TEXT COLLATE "C";

-- +goose Down
-- The order of ids stays: nothing older needs another one.
DROP SEQUENCE outbox_places;
