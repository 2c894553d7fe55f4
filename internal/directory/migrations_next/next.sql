-- +goose Up

-- A version to come (build tag skein_next), for test/faults: it adds something.
ALTER TABLE users ADD COLUMN next_note TEXT;
ALTER TABLE memberships ADD COLUMN next_note TEXT;
CREATE INDEX memberships_next ON memberships (next_note);

-- +goose Down
DROP INDEX memberships_next;
