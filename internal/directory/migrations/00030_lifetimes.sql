-- +goose Up

-- After which entries messages of a conversation disappear, and after how many seconds;
-- 0: they stay.
CREATE TABLE lifetimes (
    conversation TEXT   NOT NULL,
    after_seq    BIGINT NOT NULL,
    lifetime_s   BIGINT NOT NULL,
    PRIMARY KEY (conversation, after_seq)
);

-- +goose Down
DROP TABLE lifetimes;
