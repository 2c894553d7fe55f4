-- The journal's tables, as of version 4, in one piece; the indexes of entries are in
-- indexes.sql, as a rewrite makes them at its end. A change is a new step in
-- schema.go; functions carry their version in the name, so that processes of two
-- versions can use one database while they are exchanged.

CREATE TABLE journal_meta (
    one      bool   PRIMARY KEY DEFAULT true CHECK (one),
    version  int    NOT NULL,
    least    int    NOT NULL, -- what a program must know to use the tables (internal/schema)
    timeline text   NOT NULL,
    base     bigint NOT NULL, -- a position is base + a transaction id
    identity text   NOT NULL, -- of the cluster, the database and the table
    wal      text   NOT NULL, -- the server's own timeline
    level    int    NOT NULL, -- what acknowledged entries survive: 0 a process's crash, 1 power loss, 2 the server's
    -- The era that goes on, and where it began: which cluster, database and table,
    -- and which start of its server.
    era      bigint NOT NULL DEFAULT 0,
    server   text   NOT NULL DEFAULT ''
);

-- The server empties it when it recovers from a crash, is promoted, or was
-- restored from its files: whatever makes it use transaction ids again that were
-- given to transactions which nothing is left of.
CREATE UNLOGGED TABLE journal_alive (one bool PRIMARY KEY DEFAULT true CHECK (one));

-- Eras (im.Era), by which a position is known to be of this history.
CREATE TABLE journal_eras (
    n      bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id     bigint NOT NULL,
    begun  bigint NOT NULL -- the position the journal had reached
);

-- How far positions may be given out: what is in this row is as durable as the
-- entries before it, so any copy of the database that has the one has the others.
CREATE TABLE journal_reached (
    one bool   PRIMARY KEY DEFAULT true CHECK (one),
    pos bigint NOT NULL,
    own bigint NOT NULL -- the position of the transaction that wrote pos
) WITH (fillfactor = 10);
INSERT INTO journal_reached (pos, own) VALUES (0, 0);

-- Every key begins with, or carries, the slot of its conversation or user, which
-- slots.go makes of the name: all of a slot can be told from the rest.
CREATE TABLE journal_heads (
    seq    bigint   NOT NULL,
    count  bigint   NOT NULL,
    stored bigint   NOT NULL, -- milliseconds since 1970
    roster bigint   NOT NULL,
    pos    bigint   NOT NULL,
    no     int      NOT NULL GENERATED ALWAYS AS IDENTITY,
    slot   smallint NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    PRIMARY KEY (slot, conversation)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
-- Without the slot, so that nobody plans to look for a name by it.
CREATE INDEX journal_heads_no ON journal_heads (no);

-- The order of the columns leaves no gaps between them, and what most entries do
-- not have is null, which takes no room: a roster revision of 0 as well.
CREATE TABLE journal_entries (
    seq      bigint   NOT NULL,
    count    bigint   NOT NULL,
    stored   bigint   NOT NULL,
    pos      bigint   NOT NULL,
    hash     bigint   NOT NULL,
    roster   bigint,
    id       uuid     NOT NULL,
    no       int      NOT NULL, -- of the conversation
    slot     smallint NOT NULL,
    kind     smallint NOT NULL,
    body     bytea    NOT NULL, -- internal/entrycodec
    sender   text     COLLATE "C" NOT NULL,
    recalled bool,   -- true or null
    target   bigint, -- what the entry amends
    amended  bigint  -- the last amendment of the entry
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);

CREATE TABLE journal_marks (
    received     bigint   NOT NULL,
    read         bigint   NOT NULL,
    read_count   bigint   NOT NULL,
    pos          bigint   NOT NULL,
    slot         smallint NOT NULL, -- of the user
    "user"       text     COLLATE "C" NOT NULL,
    conversation text     COLLATE "C" NOT NULL,
    mine         bytea, -- what the user set for themselves
    PRIMARY KEY (slot, "user", conversation)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
