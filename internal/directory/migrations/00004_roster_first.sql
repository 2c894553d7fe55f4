-- +goose Up

-- A roster is read from the index alone, with what each member may read.
DROP INDEX memberships_roster;
CREATE INDEX memberships_roster ON memberships (conversation, user_id, role, muted_until, joined_at, first_seq) WHERE role <> 0;

-- +goose Down
DROP INDEX memberships_roster;
CREATE INDEX memberships_roster ON memberships (conversation, user_id, role, muted_until, joined_at) WHERE role <> 0;
