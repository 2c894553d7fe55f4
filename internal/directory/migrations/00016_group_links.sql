-- +goose Up

-- Links by which somebody joins a group. expires_at 0: never; max_uses 0: any number.
CREATE TABLE group_links (
    code         TEXT   NOT NULL PRIMARY KEY,
    conversation TEXT   NOT NULL,
    creator      TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    max_uses     BIGINT NOT NULL,
    uses         BIGINT NOT NULL
);
CREATE INDEX group_links_conversation ON group_links (conversation, code);

-- Who asks to be a member of a group. Whoever becomes one has none.
CREATE TABLE group_requests (
    conversation TEXT   NOT NULL,
    user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    note         TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    PRIMARY KEY (conversation, user_id)
);
CREATE INDEX group_requests_user ON group_requests (user_id);

-- +goose Down
DROP TABLE group_requests;
DROP TABLE group_links;
