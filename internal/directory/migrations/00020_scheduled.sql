-- +goose Up

-- Messages that are sent later (im.Scheduled). state is 1 while one waits, 2 from when
-- its time has come, 3 when it was refused for good, with code and reason.
CREATE TABLE scheduled (
    user_id      TEXT   NOT NULL,
    id           BYTEA  NOT NULL,
    conversation TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    reply_to     BIGINT NOT NULL,
    body         BYTEA  NOT NULL,
    hash         BIGINT NOT NULL,
    state        BIGINT NOT NULL,
    code         TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX scheduled_due ON scheduled (state, at);

-- +goose Down
DROP TABLE scheduled;
