-- +goose Up

-- Who may not be a member of a group, until a time; 0: for ever.
CREATE TABLE group_bans (
    conversation TEXT   NOT NULL,
    user_id      TEXT   NOT NULL,
    banned_by    TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    until_at     BIGINT NOT NULL,
    PRIMARY KEY (conversation, user_id)
);

-- +goose Down
DROP TABLE group_bans;
