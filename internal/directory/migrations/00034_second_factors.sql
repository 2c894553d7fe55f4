-- +goose Up

-- What users prove themselves with besides the password: the secret of their
-- authenticator app, sealed, and the step of the last code that was taken. One that is
-- not active waits for its first right code.
CREATE TABLE second_factors (
    user_id    TEXT    NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    sealed     BYTEA   NOT NULL,
    active     BOOLEAN NOT NULL DEFAULT FALSE,
    last_step  BIGINT  NOT NULL DEFAULT 0,
    created_at BIGINT  NOT NULL
);

-- Codes in the place of the app's, by SHA-256, each good once: then it is removed.
CREATE TABLE recovery_codes (
    user_id TEXT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash    BYTEA NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- What somebody may do once, by SHA-256 of its secret. kind: 1 the second step of a
-- login, with the password's hash that it was begun with in bound, and tries left;
-- 2 an administrator's link that resets a password; flag: and the second factor.
CREATE TABLE tickets (
    hash       BYTEA   NOT NULL PRIMARY KEY,
    kind       BIGINT  NOT NULL,
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    bound      TEXT    NOT NULL DEFAULT '',
    flag       BOOLEAN NOT NULL DEFAULT FALSE,
    tries      BIGINT  NOT NULL,
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL
);
CREATE INDEX tickets_user ON tickets (user_id, kind, created_at);
CREATE INDEX tickets_expiry ON tickets (expires_at);

-- Links by which people register, by SHA-256 of their code. max_uses 0: any number.
CREATE TABLE registration_links (
    id         TEXT   NOT NULL PRIMARY KEY,
    hash       BYTEA  NOT NULL UNIQUE,
    note       TEXT   NOT NULL DEFAULT '',
    uses       BIGINT NOT NULL DEFAULT 0,
    max_uses   BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX registration_links_expiry ON registration_links (expires_at);

-- +goose Down
DROP TABLE registration_links;
DROP TABLE tickets;
DROP TABLE recovery_codes;
DROP TABLE second_factors;
