-- +goose Up

-- Whose keys sealed what is here: a value made of the server's key, from which the key
-- cannot be found. At most one row. Empty: the store was moved on purpose, and goes on with
-- the keys of whoever starts first.
CREATE TABLE key_check (
    one      BIGINT NOT NULL PRIMARY KEY,
    value    TEXT   NOT NULL,
    noted_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE key_check;
