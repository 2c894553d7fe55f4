-- +goose Up

-- A user. Those who exist by a minted token only have no username and no password.
CREATE TABLE users (
    id            TEXT    NOT NULL PRIMARY KEY,
    username      TEXT    UNIQUE,
    display_name  TEXT    NOT NULL,
    password_hash TEXT    NOT NULL DEFAULT '',
    admin         BOOLEAN NOT NULL DEFAULT FALSE,
    dm_policy     BIGINT  NOT NULL,
    created_at    BIGINT  NOT NULL
);

-- One login of a user on a device. device_id is '' until the first Hello
-- settles it. ended_at <> 0 is a tombstone: its tokens are answered with
-- session_revoked until the row is removed.
CREATE TABLE sessions (
    id           TEXT   NOT NULL PRIMARY KEY,
    user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    device_id    TEXT   NOT NULL DEFAULT '',
    device_class BIGINT NOT NULL DEFAULT 0,
    device_name  TEXT   NOT NULL DEFAULT '',
    client       TEXT   NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    last_address TEXT   NOT NULL DEFAULT '',
    expires_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at > 0;

-- The tokens of sessions, by SHA-256. kind: 1 access, 2 refresh.
-- A refresh token that was exchanged has replaced_at; while its successors have
-- not been seen in use, retry_nonce allows to answer a retry with the same ones.
-- Tokens that came from an exchange name the refresh token in parent.
CREATE TABLE tokens (
    hash        BYTEA  NOT NULL PRIMARY KEY,
    session_id  TEXT   NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind        BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    parent      BYTEA,
    replaced_at BIGINT NOT NULL DEFAULT 0,
    retry_nonce BYTEA
);
CREATE INDEX tokens_session ON tokens (session_id);
CREATE INDEX tokens_expiry ON tokens (expires_at);
CREATE INDEX tokens_retry ON tokens (replaced_at) WHERE retry_nonce IS NOT NULL;

-- One-time codes, by SHA-256. name 'admin' makes the first administrator.
CREATE TABLE claims (
    name       TEXT   NOT NULL PRIMARY KEY,
    hash       BYTEA  NOT NULL,
    created_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE claims;
DROP TABLE tokens;
DROP TABLE sessions;
DROP TABLE users;
