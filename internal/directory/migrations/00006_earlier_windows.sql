-- +goose Up

-- The times that a user was a member of a group before the last one, in their
-- order, as first-until joined by commas: what was stored in them stays theirs to
-- read. '' = none.
ALTER TABLE memberships ADD COLUMN earlier TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE memberships DROP COLUMN earlier;
