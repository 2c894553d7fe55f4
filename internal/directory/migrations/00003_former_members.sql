-- +goose Up

-- Finds a group's former members, when the journal lost what they may read.
CREATE INDEX memberships_former ON memberships (conversation) WHERE until_seq <> 0;

-- +goose Down
DROP INDEX memberships_former;
