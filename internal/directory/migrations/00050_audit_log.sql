-- +goose Up

-- The audit log: what administrators did (kind 1), and who signed in, or tried to (kind 2).
-- id: of which the first bytes are the time, so that lines are ordered by it. actor: who did
-- it, '' for the admin key and for nobody. code: '' for what was done, otherwise what it was
-- refused with, or unknown. times: how often, for what is told in one line.
CREATE TABLE audit_log (
    id      BYTEA  NOT NULL PRIMARY KEY,
    at      BIGINT NOT NULL,
    kind    BIGINT NOT NULL,
    action  TEXT   NOT NULL,
    actor   TEXT   NOT NULL,
    role    BIGINT NOT NULL,
    target  TEXT   NOT NULL,
    address TEXT   NOT NULL,
    device  TEXT   NOT NULL,
    session TEXT   NOT NULL,
    code    TEXT   NOT NULL,
    detail  TEXT   NOT NULL,
    times   BIGINT NOT NULL
);
CREATE INDEX audit_log_kind ON audit_log (kind, id);
CREATE INDEX audit_log_actor ON audit_log (actor, id);
CREATE INDEX audit_log_target ON audit_log (target, id);

-- +goose Down
DROP TABLE audit_log;
