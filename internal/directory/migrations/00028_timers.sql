-- +goose Up

-- What is to become of messages at a time (im.Timer), kept before they are stored.
CREATE TABLE timers (
    kind         BIGINT NOT NULL,
    user_id      TEXT   NOT NULL,
    id           BYTEA  NOT NULL,
    conversation TEXT   NOT NULL,
    hash         BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    set_at       BIGINT NOT NULL,
    PRIMARY KEY (kind, user_id, id, conversation)
);
CREATE INDEX timers_due ON timers (at);

-- +goose Down
DROP TABLE timers;
