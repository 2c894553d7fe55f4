-- +goose Up

-- Stickers and custom emoji of the deployment (SPEC §4.35). emoji of a sticker: separated
-- by spaces.
CREATE TABLE sticker_packs (
    name  TEXT   NOT NULL PRIMARY KEY,
    title TEXT   NOT NULL,
    place BIGINT NOT NULL
);
CREATE TABLE stickers (
    pack     TEXT   NOT NULL,
    name     TEXT   NOT NULL,
    place    BIGINT NOT NULL,
    media_id TEXT   NOT NULL,
    alt      TEXT   NOT NULL,
    emoji    TEXT   NOT NULL,
    PRIMARY KEY (pack, name)
);
CREATE INDEX stickers_of_media ON stickers (media_id);
CREATE TABLE custom_emoji (
    name     TEXT NOT NULL PRIMARY KEY,
    media_id TEXT NOT NULL
);
CREATE INDEX custom_emoji_of_media ON custom_emoji (media_id);

-- One row once there was any: it is another one after each change.
CREATE TABLE sticker_revision (
    id       BIGINT NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL
);

-- +goose Down
DROP TABLE sticker_revision;
DROP TABLE custom_emoji;
DROP TABLE stickers;
DROP TABLE sticker_packs;
