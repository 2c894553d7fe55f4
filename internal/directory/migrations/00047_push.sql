-- +goose Up

-- The key pair by which push services know this server; the private key is sealed. At
-- most one row.
CREATE TABLE push_keys (
    one     BIGINT NOT NULL PRIMARY KEY,
    public  BYTEA  NOT NULL,
    sealed  BYTEA  NOT NULL,
    made_at BIGINT NOT NULL
);

-- Where the device of a session is woken: an address of a push service, once, by its
-- SHA-256, and the keys with which the device reads what it is told. failures: how much
-- failed for good since something did not.
CREATE TABLE push_subscriptions (
    session_id    TEXT   NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    user_id       TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    endpoint      TEXT   NOT NULL,
    endpoint_hash BYTEA  NOT NULL UNIQUE,
    point         BYTEA  NOT NULL,
    auth          BYTEA  NOT NULL,
    created_at    BIGINT NOT NULL,
    failures      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX push_subscriptions_user ON push_subscriptions (user_id);

-- For what a user's devices are woken; levels as in the protocol, quiet hours in minutes
-- of the day.
CREATE TABLE push_settings (
    user_id       TEXT    NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    direct        BIGINT  NOT NULL,
    groups        BIGINT  NOT NULL,
    mute_mentions BOOLEAN NOT NULL,
    hide_text     BOOLEAN NOT NULL,
    quiet_from    BIGINT  NOT NULL,
    quiet_until   BIGINT  NOT NULL,
    quiet_zone    TEXT    NOT NULL
);

-- What a device is to be told, or was told and may have to take back, of a conversation.
-- seq > shown: there is something to tell. Whoever works on it holds it until held_until.
CREATE TABLE push_jobs (
    session_id   TEXT   NOT NULL REFERENCES push_subscriptions (session_id) ON DELETE CASCADE,
    conversation TEXT   NOT NULL,
    first_seq    BIGINT NOT NULL,
    seq          BIGINT NOT NULL,
    shown        BIGINT NOT NULL DEFAULT 0,
    shown_at     BIGINT NOT NULL DEFAULT 0,
    made_at      BIGINT NOT NULL,
    tries        BIGINT NOT NULL DEFAULT 0,
    due_at       BIGINT NOT NULL,
    held_until   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, conversation)
);
CREATE INDEX push_jobs_due ON push_jobs (due_at);

-- +goose Down
DROP TABLE push_jobs;
DROP TABLE push_settings;
DROP TABLE push_subscriptions;
DROP TABLE push_keys;
