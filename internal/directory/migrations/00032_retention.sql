-- +goose Up

-- How long the messages of conversations are kept, and up to where they are gone for all
-- (SPEC §4.33). keep_s: for so many seconds; 0: for ever; -1: as all of the deployment's.
CREATE TABLE retention (
    conversation TEXT   NOT NULL PRIMARY KEY,
    keep_s       BIGINT NOT NULL,
    floor_seq    BIGINT NOT NULL,
    given_seq    BIGINT NOT NULL,
    raised_ms    BIGINT NOT NULL
);

-- +goose Down
DROP TABLE retention;
