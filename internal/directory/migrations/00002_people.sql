-- +goose Up

-- Who is what to whom: one row for each side of a pair, as user_id sees peer_id.
-- state: 1 contact, 2 I asked, 3 they ask me, 4 none. A side that has nothing
-- to tell (none, not blocked) has no row.
CREATE TABLE contacts (
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    peer_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    state      BIGINT  NOT NULL,
    blocked    BOOLEAN NOT NULL,
    remark     TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    changed_at BIGINT  NOT NULL,
    PRIMARY KEY (user_id, peer_id)
);
CREATE INDEX contacts_peer ON contacts (peer_id);

-- A group. rev is the roster revision, 0 until the entry that creates it is in
-- the journal. members counts the memberships with a role. creator and
-- request_id make a repeated creation find the first one's group.
CREATE TABLE groups (
    conversation TEXT   NOT NULL PRIMARY KEY,
    name         TEXT   NOT NULL,
    owner        TEXT   NOT NULL,
    members      BIGINT NOT NULL DEFAULT 0,
    rev          BIGINT NOT NULL DEFAULT 0,
    created_at   BIGINT NOT NULL,
    creator      TEXT   NOT NULL,
    request_id   TEXT,
    UNIQUE (creator, request_id)
);

-- A user's place in a conversation: dms, and groups now and formerly.
-- first_seq and until_seq bound what the user may read, both included;
-- until_seq 0 = to the end. role is 0 in dms and for former members. Who is added
-- again sees from the new join on: the row is overwritten. title is the group's
-- name when the member left.
CREATE TABLE memberships (
    user_id      TEXT   NOT NULL,
    conversation TEXT   NOT NULL,
    first_seq    BIGINT NOT NULL,
    until_seq    BIGINT NOT NULL DEFAULT 0,
    role         BIGINT NOT NULL DEFAULT 0,
    muted_until  BIGINT NOT NULL DEFAULT 0,
    joined_at    BIGINT NOT NULL DEFAULT 0,
    title        TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, conversation)
);
CREATE INDEX memberships_roster ON memberships (conversation, user_id, role, muted_until, joined_at) WHERE role <> 0;

-- Entries that a transaction promised to append to the journal. place orders
-- the promises of a conversation. The index admits one roster change of a group
-- at a time.
CREATE TABLE outbox (
    id           BYTEA  NOT NULL PRIMARY KEY,
    place        BIGINT NOT NULL,
    conversation TEXT   NOT NULL,
    sender       TEXT   NOT NULL,
    event        TEXT   NOT NULL,
    if_roster    BIGINT NOT NULL,
    set_roster   BIGINT NOT NULL
);
CREATE INDEX outbox_place ON outbox (place);
CREATE INDEX outbox_conversation ON outbox (conversation);
CREATE UNIQUE INDEX outbox_roster ON outbox (conversation) WHERE set_roster <> 0;

-- +goose Down
DROP TABLE outbox;
DROP TABLE memberships;
DROP TABLE groups;
DROP TABLE contacts;
