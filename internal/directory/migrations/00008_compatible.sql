-- +goose Up

-- Which programs may use these tables (internal/schema): those that know this
-- version, or a later one. A migration that shuts out programs of before has
-- `_contract` in its name and sets this to its own version.
CREATE TABLE directory_compatible (
    one   BIGINT NOT NULL PRIMARY KEY,
    least BIGINT NOT NULL
);
INSERT INTO directory_compatible (one, least) VALUES (1, 8);

-- +goose Down
DROP TABLE directory_compatible;
