-- +goose Up

-- A guest: gone when nobody came with one of its sessions for a time.
ALTER TABLE users ADD COLUMN guest BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX users_guest ON users (id) WHERE guest;
-- Whether guests may come by a link.
ALTER TABLE group_links ADD COLUMN guests BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE group_links DROP COLUMN guests;
DROP INDEX users_guest;
ALTER TABLE users DROP COLUMN guest;
