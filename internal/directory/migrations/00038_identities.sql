-- +goose Up

-- As whom users log in by a provider (OpenID Connect). issuer and subject are who
-- somebody is there; username and email are what the provider said when they came last,
-- email only if it had verified it.
CREATE TABLE identities (
    id           TEXT   NOT NULL PRIMARY KEY,
    user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider     TEXT   NOT NULL,
    issuer       TEXT   NOT NULL,
    subject      TEXT   NOT NULL,
    username     TEXT   NOT NULL DEFAULT '',
    email        TEXT   NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    UNIQUE (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);
CREATE INDEX identities_email ON identities (email) WHERE email <> '';

-- Logins by a provider that are under way, by SHA-256 of their secret. kind: 1 the state
-- that a browser was sent away with, 2 the code that it came back with. data is JSON
-- (im.ProviderLogin).
CREATE TABLE provider_logins (
    hash       BYTEA  NOT NULL PRIMARY KEY,
    kind       BIGINT NOT NULL,
    data       TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX provider_logins_expiry ON provider_logins (expires_at);

-- +goose Down
DROP TABLE provider_logins;
DROP TABLE identities;
