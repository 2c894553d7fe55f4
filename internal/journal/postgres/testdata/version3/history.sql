-- Version 2: eras (im.Era), by which a position is known to be of this history.

-- The era that goes on, and where it began: which cluster, database and table,
-- and which start of its server.
ALTER TABLE journal_meta ADD COLUMN era bigint NOT NULL DEFAULT 0, ADD COLUMN server text NOT NULL DEFAULT '';

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

-- journal_begin makes a new era begin where positions have come to.
CREATE FUNCTION journal_begin_1(new_era bigint, here text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO journal_eras (id, begun) SELECT new_era, r.pos FROM journal_reached r;
    DELETE FROM journal_eras WHERE n <= (SELECT max(n) FROM journal_eras) - 8192;
    UPDATE journal_meta SET era = new_era, server = here;
END
$$;

-- journal_adopt makes this server the one the journal is kept on, and answers
-- under which timeline and in which era. It is called on every new connection, so
-- nothing is stored, and no position given out, by a server whose era is not
-- there: another server, or another start of it, has other connections.
CREATE FUNCTION journal_adopt_2(name text, new_era bigint,
    OUT now_timeline text, OUT now_era bigint, OUT now_version int, OUT moved bool, OUT lost bool)
LANGUAGE plpgsql AS $$
DECLARE
    m journal_meta;
    here text;
    here_server text;
    here_wal text;
    here_level int;
    alive bool;
BEGIN
    SELECT format('%s/%s/%s', s.system_identifier, d.oid, 'journal_entries'::regclass::oid) INTO here
        FROM pg_control_system() s, pg_database d WHERE d.datname = current_database();
    here_wal := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
    here_server := format('%s/%s/%s', here, here_wal, extract(epoch FROM pg_postmaster_start_time()));
    here_level := CASE WHEN current_setting('fsync') <> 'on' THEN 0
        WHEN current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_apply') THEN 2
        ELSE 1 END;
    -- The first look is without the lock; what it finds is looked at again with it.
    FOR look IN 1..2 LOOP
        SELECT * INTO STRICT m FROM journal_meta;
        alive := EXISTS (SELECT FROM journal_alive);
        now_timeline := m.timeline;
        now_era := m.era;
        now_version := m.version;
        lost := m.identity <> '' AND (m.identity <> here OR m.wal <> here_wal AND m.level < 2 OR NOT alive AND m.level < 1);
        moved := m.identity <> '' AND (lost OR m.wal <> here_wal OR NOT alive);
        IF m.identity <> '' AND NOT moved AND m.level = here_level AND m.server = here_server THEN
            RETURN;
        END IF;
        IF look = 1 THEN
            PERFORM pg_advisory_xact_lock(7205416021);
        END IF;
    END LOOP;
    IF lost THEN
        now_timeline := name;
    END IF;
    IF moved OR m.server <> here_server THEN
        now_era := new_era;
        PERFORM journal_begin_1(new_era, here_server);
    END IF;
    UPDATE journal_meta SET timeline = now_timeline, identity = here, wal = here_wal, level = here_level,
        base = base + CASE WHEN moved THEN 4294967296 ELSE 0 END;
    INSERT INTO journal_alive VALUES (true) ON CONFLICT DO NOTHING;
END
$$;

-- journal_renew begins an era on a server that went back without ending: one in a
-- virtual machine that was put back with its memory.
CREATE FUNCTION journal_renew_1(old_era bigint, new_era bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7205416021);
    PERFORM journal_begin_1(new_era, m.server) FROM journal_meta m WHERE m.era = old_era;
END
$$;
