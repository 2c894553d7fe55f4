-- +goose Up

-- A version to come (build tag skein_next), for test/faults: it takes something away.
ALTER TABLE memberships DROP COLUMN next_note;
UPDATE directory_compatible SET least = {version};

-- +goose Down
SELECT 1;
