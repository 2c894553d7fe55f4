-- +goose Up

-- Those that do something about every entry of the journal, each by its name and
-- the part of the journal (internal/feed). place is where it goes on, '' at the
-- beginning; holder works on it, '' nobody, and makes beat grow as long as it does.
CREATE TABLE followers (
    name    TEXT   NOT NULL,
    shard   BIGINT NOT NULL,
    place   TEXT   NOT NULL,
    updated BIGINT NOT NULL,
    holder  TEXT   NOT NULL,
    beat    BIGINT NOT NULL,
    PRIMARY KEY (name, shard)
);

-- Entries that a follower could not do, and went on without.
CREATE TABLE follower_poison (
    name         TEXT   NOT NULL,
    shard        BIGINT NOT NULL,
    conversation TEXT   NOT NULL,
    seq          BIGINT NOT NULL,
    pos          BIGINT NOT NULL,
    reason       TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (name, shard, conversation, seq)
);

-- +goose Down
DROP TABLE follower_poison;
DROP TABLE followers;
