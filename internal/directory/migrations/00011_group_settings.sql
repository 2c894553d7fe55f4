-- +goose Up

-- What may be set of a group besides its name, as JSON (im.GroupSettings); '': as
-- in new groups.
ALTER TABLE groups ADD COLUMN settings TEXT NOT NULL DEFAULT '';

-- Of who joined a group that shows new members what was before: the entries up to
-- this one are not unread.
ALTER TABLE memberships ADD COLUMN read_to BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE memberships DROP COLUMN read_to;
ALTER TABLE groups DROP COLUMN settings;
