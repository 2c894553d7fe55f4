-- Version 1 of the journal's tables. A change is a new version in schema.go;
-- functions carry theirs in the name, so that processes of two versions can use
-- one database while they are exchanged.

CREATE TABLE journal_meta (
    one      bool   PRIMARY KEY DEFAULT true CHECK (one),
    version  int    NOT NULL,
    timeline text   NOT NULL,
    base     bigint NOT NULL, -- a position is base + a transaction id
    identity text   NOT NULL, -- of the cluster, the database and the table
    wal      text   NOT NULL, -- the server's own timeline
    level    int    NOT NULL  -- what acknowledged entries survive: 0 a process's crash, 1 power loss, 2 the server's
);

-- The server empties it when it recovers from a crash, is promoted, or was
-- restored from its files: whatever makes it use transaction ids again that were
-- given to transactions which nothing is left of.
CREATE UNLOGGED TABLE journal_alive (one bool PRIMARY KEY DEFAULT true CHECK (one));

CREATE TABLE journal_heads (
    conversation text COLLATE "C" NOT NULL PRIMARY KEY,
    no     bigint NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    seq    bigint NOT NULL,
    count  bigint NOT NULL,
    stored bigint NOT NULL, -- milliseconds since 1970
    roster bigint NOT NULL,
    pos    bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE journal_entries (
    no       bigint   NOT NULL, -- of the conversation
    seq      bigint   NOT NULL,
    count    bigint   NOT NULL,
    stored   bigint   NOT NULL,
    pos      bigint   NOT NULL,
    hash     bigint   NOT NULL,
    id       uuid     NOT NULL,
    kind     smallint NOT NULL,
    text     bool     NOT NULL,
    recalled bool     NOT NULL DEFAULT false,
    sender   text     COLLATE "C" NOT NULL,
    type     text     COLLATE "C" NOT NULL,
    body     bytea    NOT NULL,
    roster   bigint   NOT NULL,
    reply_to bigint,
    target   bigint,
    mentions text     COLLATE "C", -- joined by commas
    event    text     COLLATE "C"  -- JSON
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);

CREATE UNIQUE INDEX journal_entries_seq ON journal_entries (no, seq);
-- Ids carry their time, so new ones lie together at the end.
CREATE UNIQUE INDEX journal_entries_id ON journal_entries (id, sender);
CREATE INDEX journal_entries_pos ON journal_entries USING brin (pos) WITH (pages_per_range = 32, autosummarize = on);

-- No part of the version: recalls.go makes it where it is missing.
CREATE INDEX journal_entries_recalled ON journal_entries (no, seq) WHERE recalled AND kind = 1;

CREATE TABLE journal_marks (
    "user"       text   COLLATE "C" NOT NULL,
    conversation text   COLLATE "C" NOT NULL,
    received     bigint NOT NULL,
    read         bigint NOT NULL,
    read_count   bigint NOT NULL,
    pos          bigint NOT NULL,
    PRIMARY KEY ("user", conversation)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
