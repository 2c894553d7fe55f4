-- +goose Up

-- Lists of the deployment's own that are read as a whole, as JSON: what it announces, the
-- words and links that it does not allow.
CREATE TABLE server_lists (
    name     TEXT   NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,
    value    TEXT   NOT NULL
);

-- user_id wrote to peer_id, who is no contact, and may be answered whatever user_id's policy
-- says, until user_id removes or blocks them.
CREATE TABLE wrote_first (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    peer_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, peer_id)
);
CREATE INDEX wrote_first_peer ON wrote_first (peer_id);

-- +goose Down
DROP TABLE wrote_first;
DROP TABLE server_lists;
