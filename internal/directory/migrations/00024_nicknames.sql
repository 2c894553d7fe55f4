-- +goose Up

-- What a member is called in a group; '': by their own name.
ALTER TABLE memberships ADD COLUMN nickname TEXT NOT NULL DEFAULT '';
-- A page of members by role and joining is read from here.
CREATE INDEX memberships_ranked ON memberships (conversation, role, joined_at, user_id) WHERE role <> 0;

-- +goose Down
DROP INDEX memberships_ranked;
ALTER TABLE memberships DROP COLUMN nickname;
