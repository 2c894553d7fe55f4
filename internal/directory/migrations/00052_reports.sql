-- +goose Up

-- What members reported of messages. said: what the message said then. state: 1 open,
-- 2 resolved, 3 dismissed, by whom and when, with a note.
CREATE TABLE reports (
    id           BYTEA  NOT NULL PRIMARY KEY,
    conversation TEXT   NOT NULL,
    seq          BIGINT NOT NULL,
    author       TEXT   NOT NULL,
    reporter     TEXT   NOT NULL,
    reason       BIGINT NOT NULL,
    text         TEXT   NOT NULL,
    said         TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    state        BIGINT NOT NULL,
    decided_by   TEXT   NOT NULL,
    decided_at   BIGINT NOT NULL,
    note         TEXT   NOT NULL,
    UNIQUE (reporter, conversation, seq)
);
CREATE INDEX reports_state ON reports (state, id);
CREATE INDEX reports_author ON reports (author, id);
CREATE INDEX reports_reporter ON reports (reporter, created_at);

-- What is set at run time: the deployment's name, its picture, who may register.
CREATE TABLE server_settings (
    name       TEXT   NOT NULL PRIMARY KEY,
    value      TEXT   NOT NULL,
    changed_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE server_settings;
DROP TABLE reports;
