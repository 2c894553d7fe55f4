-- +goose Up

-- Ids are ordered by their bytes, as in the other tables (version 5).
ALTER TABLE sticker_packs ALTER COLUMN name TYPE TEXT COLLATE "C";
ALTER TABLE stickers
    ALTER COLUMN pack TYPE TEXT COLLATE "C",
    ALTER COLUMN name TYPE TEXT COLLATE "C",
    ALTER COLUMN media_id TYPE TEXT COLLATE "C";
ALTER TABLE custom_emoji
    ALTER COLUMN name TYPE TEXT COLLATE "C",
    ALTER COLUMN media_id TYPE TEXT COLLATE "C";

-- +goose Down
SELECT 1;
