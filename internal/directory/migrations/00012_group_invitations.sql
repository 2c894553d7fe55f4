-- +goose Up

-- Who may add a user to groups (im.GroupPolicy); 0: anyone.
ALTER TABLE users ADD COLUMN group_policy BIGINT NOT NULL DEFAULT 0;

-- Who is asked whether they want to be in a group. Whoever becomes a member has none.
CREATE TABLE group_invitations (
    user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    conversation TEXT   NOT NULL,
    inviter      TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    PRIMARY KEY (user_id, conversation)
);

-- +goose Down
DROP TABLE group_invitations;
ALTER TABLE users DROP COLUMN group_policy;
