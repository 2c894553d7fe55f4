-- +goose Up

-- What a user may do to the deployment: 0 nothing, 1 auditor, 2 moderator, 3 admin, 4 owner.
-- admin is kept beside it, for programs of before: it is true for 3 and 4.
ALTER TABLE users ADD COLUMN server_role BIGINT NOT NULL DEFAULT 0;
UPDATE users SET server_role = 4 WHERE admin;
CREATE INDEX users_role ON users (id) WHERE admin OR server_role <> 0;

-- Why nobody comes in as the user: disabled or banned since then, 0: not; a ban until a
-- time, 0: for ever.
ALTER TABLE users ADD COLUMN disabled_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN banned_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN banned_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN ban_reason TEXT NOT NULL DEFAULT '';
CREATE INDEX users_disabled ON users (id) WHERE disabled_at <> 0;
CREATE INDEX users_banned ON users (id) WHERE banned_at <> 0;

-- +goose Down
DROP INDEX users_banned;
DROP INDEX users_disabled;
DROP INDEX users_role;
ALTER TABLE users DROP COLUMN ban_reason;
ALTER TABLE users DROP COLUMN banned_until;
ALTER TABLE users DROP COLUMN banned_at;
ALTER TABLE users DROP COLUMN disabled_at;
ALTER TABLE users DROP COLUMN server_role;
