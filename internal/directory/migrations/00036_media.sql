-- +goose Up

-- Uploads (im.Upload). expires_at: when it is thrown away; 0 while a message names it.
CREATE TABLE media (
    id          TEXT   NOT NULL PRIMARY KEY,
    owner       TEXT   NOT NULL,
    state       BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    received    BIGINT NOT NULL,
    name        TEXT   NOT NULL,
    mime        TEXT   NOT NULL,
    width       BIGINT NOT NULL,
    height      BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    blurhash    TEXT   NOT NULL,
    waveform    BYTEA,
    hash        TEXT   NOT NULL,
    thumbnail   TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX media_of ON media (owner, created_at);
CREATE INDEX media_due ON media (expires_at);

-- What was received of an upload that is not complete.
CREATE TABLE media_pieces (
    media_id TEXT   NOT NULL,
    start    BIGINT NOT NULL,
    size     BIGINT NOT NULL,
    blob     TEXT   NOT NULL,
    PRIMARY KEY (media_id, start)
);

-- Contents, each once, and how many uploads have it.
CREATE TABLE media_blobs (
    hash TEXT   NOT NULL PRIMARY KEY,
    blob TEXT   NOT NULL,
    uses BIGINT NOT NULL
);

-- Messages that name an upload, or may: written before the message is stored. check_at:
-- when the journal is asked, for the first time or again.
CREATE TABLE media_names (
    conversation TEXT   NOT NULL,
    sender       TEXT   NOT NULL,
    message_id   BYTEA  NOT NULL,
    media_id     TEXT   NOT NULL,
    hash         BIGINT NOT NULL,
    check_at     BIGINT NOT NULL,
    PRIMARY KEY (conversation, sender, message_id, media_id)
);
CREATE INDEX media_names_of ON media_names (media_id, message_id);
CREATE INDEX media_names_due ON media_names (check_at);

-- Blobs that nothing has, or nothing has yet, and when they are removed. doomed: that may
-- have begun.
CREATE TABLE media_trash (
    blob   TEXT    NOT NULL PRIMARY KEY,
    at     BIGINT  NOT NULL,
    doomed BOOLEAN NOT NULL
);
CREATE INDEX media_trash_due ON media_trash (at);

-- How much a user has uploaded.
CREATE TABLE media_usage (
    owner TEXT   NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
);

-- +goose Down
DROP TABLE media_usage;
DROP TABLE media_trash;
DROP TABLE media_names;
DROP TABLE media_blobs;
DROP TABLE media_pieces;
DROP TABLE media;
