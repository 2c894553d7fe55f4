-- +goose Up

-- A nickname, folded for search, by its bytes; NULL: there is none.
ALTER TABLE memberships ADD COLUMN nick_search BYTEA;
CREATE INDEX memberships_named ON memberships (conversation, nick_search, user_id) WHERE nick_search IS NOT NULL;

-- +goose Down
DROP INDEX memberships_named;
ALTER TABLE memberships DROP COLUMN nick_search;
