-- journal_adopt makes this server the one the journal is kept on, and answers
-- under which timeline. It is called on every new connection.
CREATE FUNCTION journal_adopt_1(name text, OUT now_timeline text, OUT now_version int, OUT moved bool, OUT lost bool)
LANGUAGE plpgsql AS $$
DECLARE
    m journal_meta;
    here text;
    here_wal text;
    here_level int;
    alive bool;
BEGIN
    SELECT format('%s/%s/%s', s.system_identifier, d.oid, 'journal_entries'::regclass::oid) INTO here
        FROM pg_control_system() s, pg_database d WHERE d.datname = current_database();
    here_wal := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
    here_level := CASE WHEN current_setting('fsync') <> 'on' THEN 0
        WHEN current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_apply') THEN 2
        ELSE 1 END;
    -- The first look is without the lock; what it finds is looked at again with it.
    FOR look IN 1..2 LOOP
        SELECT * INTO STRICT m FROM journal_meta;
        alive := EXISTS (SELECT FROM journal_alive);
        now_timeline := m.timeline;
        now_version := m.version;
        lost := m.identity <> '' AND (m.identity <> here OR m.wal <> here_wal AND m.level < 2 OR NOT alive AND m.level < 1);
        moved := m.identity <> '' AND (lost OR m.wal <> here_wal OR NOT alive);
        IF m.identity <> '' AND NOT moved AND m.level = here_level THEN
            RETURN;
        END IF;
        IF look = 1 THEN
            PERFORM pg_advisory_xact_lock(7205416021);
        END IF;
    END LOOP;
    IF lost THEN
        now_timeline := name;
    END IF;
    UPDATE journal_meta SET timeline = now_timeline, identity = here, wal = here_wal, level = here_level,
        base = base + CASE WHEN moved THEN 4294967296 ELSE 0 END;
    INSERT INTO journal_alive VALUES (true) ON CONFLICT DO NOTHING;
END
$$;

-- journal_append stores a batch; see append.go. Conversations come sorted; items
-- refer to them by number. The items from `loops` on need to be treated one by
-- one, those before it are numbered by the caller: nth and mth count the items
-- and messages of their conversation in the batch, as if all were stored. Without
-- `look` an id that was stored before may be an error.
--
-- It answers the numbers of the heads as they were before, from which the caller
-- knows what the plain items became; the h_ arrays, when not all of time,
-- position and roster are those of the batch; and a row of x_ arrays for every
-- item of which the caller does not know what it became.
CREATE FUNCTION journal_append_1(
    fresh text[], nths int[], convs text[], ifs bigint[], items int[], messages int[], loops int, look bool,
    conv int[], nth int[], mth int[], ids uuid[], senders text[], hashes bigint[], kinds smallint[],
    types text[], texts bool[], bodies bytea[], replies bigint[], targets bigint[], mentioned text[], events text[],
    item_ifs bigint[], item_sets bigint[], erases bigint[],
    OUT at_pos bigint, OUT at_ms bigint,
    OUT h_seq bigint[], OUT h_count bigint[], OUT h_stored bigint[], OUT h_roster bigint[], OUT h_pos bigint[],
    OUT x_item int[], OUT x_status smallint[], OUT x_seq bigint[], OUT x_count bigint[], OUT x_stored bigint[], OUT x_pos bigint[], OUT x_roster bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    nos bigint[];
    meta_base bigint;
    meta_level int;
    ordered int[];
    counted int[];
    plain bool;
    rosters bigint[];
    closed bool[];
    i int;
    c int;
    e record;
    status smallint;
BEGIN
    SELECT m.base, m.level INTO meta_base, meta_level FROM journal_meta m, journal_alive;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SK001', MESSAGE = 'the journal was not adopted by this server';
    END IF;
    IF meta_level = 2 AND current_setting('synchronous_standby_names') = '' THEN
        UPDATE journal_meta SET level = 1 WHERE level = 2;
    END IF;
    at_ms := floor(extract(epoch FROM clock_timestamp()) * 1000);
    at_pos := meta_base + pg_current_xact_id()::text::bigint;

    -- First all new heads, then all locks, each in the order of the names: nobody
    -- who waits for a new head holds a lock, so there is no circle. The heads move
    -- as if all items were stored; what is not is taken back below.
    IF fresh IS NOT NULL THEN
        INSERT INTO journal_heads (conversation, seq, count, stored, roster, pos)
            SELECT f, 0, 0, 0, 0, 0 FROM unnest(fresh) f ON CONFLICT DO NOTHING;
    END IF;
    WITH moved AS (
        UPDATE journal_heads h SET seq = h.seq + u.n, count = h.count + u.m, stored = greatest(h.stored, at_ms), pos = greatest(h.pos, at_pos)
            FROM unnest(nths, convs, items, messages, ifs) u(i, name, n, m, r) WHERE h.conversation = u.name
            RETURNING u.i, h.no, h.seq - u.n AS seq, h.count - u.m AS count, h.stored = at_ms AND h.pos = at_pos AND h.roster IS NOT DISTINCT FROM u.r AS plain)
    SELECT array_agg(l.i), array_agg(l.no), array_agg(l.seq), array_agg(l.count), bool_and(l.plain)
        INTO ordered, nos, h_seq, h_count, plain FROM moved l;
    IF cardinality(nos) IS DISTINCT FROM cardinality(convs) THEN
        RAISE EXCEPTION USING ERRCODE = 'SK002', MESSAGE = 'a conversation is not known';
    END IF;
    IF NOT plain OR ordered <> nths THEN
        SELECT array_agg(l.no), array_agg(l.seq), array_agg(l.count), array_agg(l.stored), array_agg(l.roster), array_agg(l.pos)
            INTO nos, h_seq, h_count, h_stored, h_roster, h_pos
            FROM (SELECT h.no, h.seq - u.n AS seq, h.count - u.m AS count, h.stored, h.roster, h.pos
                FROM unnest(nths, convs, items, messages) u(i, name, n, m) JOIN journal_heads h ON h.conversation = u.name ORDER BY u.i) l;
        plain := h_roster IS NOT DISTINCT FROM ifs;
    END IF;

    -- Whoever stored one of these ids held a lock that is ours now, or stored it in
    -- another conversation: then the index refuses it below, and the batch is run
    -- again. The index is not asked about items that are not inserted.
    IF look OR NOT plain THEN
        SELECT array_agg(u.i::int), array_agg((CASE WHEN s.no = nos[u.c] AND s.hash = u.h THEN 2 ELSE 3 END)::smallint),
                array_agg(s.seq), array_agg(s.count), array_agg(s.stored), array_agg(s.pos), array_agg(s.roster)
            INTO x_item, x_status, x_seq, x_count, x_stored, x_pos, x_roster
            FROM unnest(conv, ids, senders, hashes) WITH ORDINALITY u(c, id, s, h, i)
            JOIN journal_entries s ON s.id = u.id AND s.sender = u.s
            WHERE u.i < loops;
    END IF;

    IF x_item IS NOT NULL OR NOT plain THEN
        -- Count again, without what is not stored.
        rosters := coalesce(h_roster, ifs);
        counted := items;
        IF x_item IS NOT NULL THEN
            FOREACH i IN ARRAY x_item LOOP
                nth[i] := 0;
                c := conv[i];
                items[c] := items[c] - 1;
                IF kinds[i] = 1 THEN
                    messages[c] := messages[c] - 1;
                END IF;
            END LOOP;
        END IF;
        FOR c IN SELECT u.i FROM unnest(nths, rosters, ifs) u(i, r, want) WHERE u.r <> u.want LOOP
            items[c] := 0;
            messages[c] := 0;
        END LOOP;
        SELECT array_agg(v.n), array_agg(v.m) INTO nth, mth FROM (
            SELECT CASE WHEN l.ok THEN (count(*) FILTER (WHERE l.ok) OVER w)::int ELSE 0 END AS n, (count(*) FILTER (WHERE l.ok AND l.k = 1) OVER w)::int AS m
                FROM (SELECT u.i, u.c, u.k, u.n > 0 AND rosters[u.c] = ifs[u.c] AS ok FROM unnest(conv, nth, kinds) WITH ORDINALITY u(c, n, k, i)) l
                WINDOW w AS (PARTITION BY l.c ORDER BY l.i ROWS UNBOUNDED PRECEDING) ORDER BY l.i) v;
    END IF;

    INSERT INTO journal_entries (no, seq, count, stored, pos, hash, id, kind, text, sender, type, body, roster, reply_to, target, mentions, event)
        SELECT nos[u.c], h_seq[u.c] + u.n, h_count[u.c] + u.m, coalesce(h_stored[u.c], at_ms), coalesce(h_pos[u.c], at_pos),
            u.hash, u.id, u.kind, u.text, u.sender, u.type, u.body, ifs[u.c], u.reply_to, u.target, u.mentions, u.event
        FROM unnest(conv, nth, mth, hashes, ids, kinds, texts, senders, types, bodies, replies, targets, mentioned, events)
            u(c, n, m, hash, id, kind, text, sender, type, body, reply_to, target, mentions, event)
        WHERE u.n > 0;
    IF rosters IS NULL THEN
        RETURN;
    END IF;

    closed := array_fill(false, ARRAY[cardinality(convs)]);
    FOR i IN loops..cardinality(ids) LOOP
        c := conv[i];
        SELECT * INTO e FROM journal_entries s WHERE s.id = ids[i] AND s.sender = senders[i];
        IF FOUND THEN
            status := CASE WHEN e.no = nos[c] AND e.hash = hashes[i] THEN 2 ELSE 3 END;
        ELSIF closed[c] OR item_ifs[i] <> rosters[c] THEN
            closed[c] := true;
            status := 4;
        ELSE
            status := 1;
            IF erases[i] > h_seq[c] + items[c] THEN
                RAISE EXCEPTION USING ERRCODE = 'SK003', MESSAGE = 'an item erases an entry that is not there';
            END IF;
            items[c] := items[c] + 1;
            IF kinds[i] = 1 THEN
                messages[c] := messages[c] + 1;
            END IF;
            IF item_sets[i] <> 0 THEN
                rosters[c] := item_sets[i];
            END IF;
            INSERT INTO journal_entries (no, seq, count, stored, pos, hash, id, kind, text, sender, type, body, roster, reply_to, target, mentions, event)
                VALUES (nos[c], h_seq[c] + items[c], h_count[c] + messages[c], h_stored[c], h_pos[c],
                    hashes[i], ids[i], kinds[i], texts[i], senders[i], types[i], bodies[i], rosters[c], replies[i], targets[i], mentioned[i], events[i])
                RETURNING * INTO e;
            IF erases[i] > 0 THEN
                UPDATE journal_entries SET recalled = true, type = '', text = false, body = '', reply_to = NULL, mentions = NULL
                    WHERE no = nos[c] AND seq = erases[i];
            END IF;
        END IF;
        x_item := array_append(x_item, i);
        x_status := array_append(x_status, status);
        x_seq := array_append(x_seq, e.seq);
        x_count := array_append(x_count, e.count);
        x_stored := array_append(x_stored, e.stored);
        x_pos := array_append(x_pos, e.pos);
        x_roster := array_append(x_roster, e.roster);
    END LOOP;

    -- The heads as they are: where nothing was stored, the last entry's.
    UPDATE journal_heads h SET seq = u.seq + u.n, count = u.count + u.m, roster = u.roster,
            stored = CASE WHEN u.n > 0 THEN h.stored ELSE coalesce((SELECT s.stored FROM journal_entries s WHERE s.no = h.no AND s.seq = u.seq), 0) END,
            pos = CASE WHEN u.n > 0 THEN h.pos ELSE coalesce((SELECT s.pos FROM journal_entries s WHERE s.no = h.no AND s.seq = u.seq), 0) END
        FROM unnest(convs, items, messages, rosters, h_seq, h_count, counted) u(name, n, m, roster, seq, count, counted)
        WHERE h.conversation = u.name AND (u.n <> u.counted OR u.n = 0);
END
$$;
