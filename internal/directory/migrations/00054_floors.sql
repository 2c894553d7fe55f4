-- +goose Up

-- told_pos: the journal's position when every node knew of the floor, 0: it was not given
-- up yet. Who knows the conversation as of a position before it is told the floor.
ALTER TABLE retention ADD COLUMN told_pos BIGINT NOT NULL DEFAULT 0;
CREATE INDEX retention_told ON retention (told_pos);
CREATE INDEX retention_waits ON retention (conversation) WHERE given_seq < floor_seq;

-- +goose Down
DROP INDEX retention_waits;
DROP INDEX retention_told;
ALTER TABLE retention DROP COLUMN told_pos;
