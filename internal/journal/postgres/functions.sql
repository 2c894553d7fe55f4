-- journal_append stores a batch; see append.go. Conversations come sorted by slot
-- and name; `fresh` and the items refer to them by number. The items from `loops`
-- on need to be treated one by one, those before it are numbered by the caller:
-- nth and mth count the items and messages of their conversation in the batch, as
-- if all were stored. Without `look` an id that was stored before may be an error.
--
-- An item amends its target by what `amends` says: 1 changes it to its `state`, if
-- it was last amended by `amend_if` and has a body; 2 recalls it; 3 recalls it, and
-- changes the entry `ofs` as 1 does, or is not stored.
--
-- It answers the numbers of the heads as they were before, from which the caller
-- knows what the plain items became; the h_ arrays, when not all of time,
-- position and roster are those of the batch; and a row of x_ arrays for every
-- item of which the caller does not know what it became.
CREATE OR REPLACE FUNCTION journal_append_3(
    fresh int[], nths int[], slots smallint[], convs text[], ifs bigint[], items int[], messages int[], loops int, look bool,
    conv int[], nth int[], mth int[], ids uuid[], senders text[], hashes bigint[], kinds smallint[], bodies bytea[], targets bigint[],
    item_ifs bigint[], item_sets bigint[], amends smallint[], amend_ifs bigint[], states bytea[], ofs bigint[],
    OUT at_pos bigint, OUT at_ms bigint,
    OUT h_seq bigint[], OUT h_count bigint[], OUT h_stored bigint[], OUT h_roster bigint[], OUT h_pos bigint[],
    OUT x_item int[], OUT x_status smallint[], OUT x_seq bigint[], OUT x_count bigint[], OUT x_stored bigint[], OUT x_pos bigint[], OUT x_roster bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    nos int[];
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

    -- First all new heads, then all locks, each in the order of slots and names:
    -- nobody who waits for a new head holds a lock, so there is no circle. The heads
    -- move as if all items were stored; what is not is taken back below. A head that
    -- is there, and only not known to the caller, must not use up a number.
    IF fresh IS NOT NULL THEN
        INSERT INTO journal_heads (slot, conversation, seq, count, stored, roster, pos)
            SELECT slots[f], convs[f], 0, 0, 0, 0, 0 FROM unnest(fresh) f
            WHERE NOT EXISTS (SELECT FROM journal_heads h WHERE h.slot = slots[f] AND h.conversation = convs[f]) ON CONFLICT DO NOTHING;
    END IF;
    WITH moved AS (
        UPDATE journal_heads h SET seq = h.seq + u.n, count = h.count + u.m, stored = greatest(h.stored, at_ms), pos = greatest(h.pos, at_pos)
            FROM unnest(nths, slots, convs, items, messages, ifs) u(i, slot, name, n, m, r) WHERE h.slot = u.slot AND h.conversation = u.name
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
                FROM unnest(nths, slots, convs, items, messages) u(i, slot, name, n, m)
                JOIN journal_heads h ON h.slot = u.slot AND h.conversation = u.name ORDER BY u.i) l;
        plain := h_roster IS NOT DISTINCT FROM ifs;
    END IF;

    -- Whoever stored one of these ids in its conversation held a lock that is ours
    -- now, so a look sees it. Without a look the index refuses it below, and the
    -- batch is run again with one. The index is not asked about items that are not
    -- inserted. The sum keeps whoever plans it, perhaps for an empty table, from the
    -- index by conversation.
    IF look OR NOT plain THEN
        SELECT array_agg(u.i::int), array_agg((CASE WHEN s.hash = u.h THEN 2 ELSE 3 END)::smallint),
                array_agg(s.seq), array_agg(s.count), array_agg(s.stored), array_agg(s.pos), array_agg(s.roster)
            INTO x_item, x_status, x_seq, x_count, x_stored, x_pos, x_roster
            FROM unnest(conv, ids, senders, hashes) WITH ORDINALITY u(c, id, s, h, i)
            JOIN journal_entries s ON s.id = u.id AND s.no = nos[u.c] AND s.slot + 0 = slots[u.c] AND s.sender = u.s
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

    INSERT INTO journal_entries (slot, no, seq, count, stored, pos, hash, roster, id, kind, body, sender, target)
        SELECT slots[u.c], nos[u.c], h_seq[u.c] + u.n, h_count[u.c] + u.m, coalesce(h_stored[u.c], at_ms), coalesce(h_pos[u.c], at_pos),
            u.hash, nullif(ifs[u.c], 0), u.id, u.kind, u.body, u.sender, u.target
        FROM unnest(conv, nth, mth, hashes, ids, kinds, bodies, senders, targets) u(c, n, m, hash, id, kind, body, sender, target)
        WHERE u.n > 0;
    IF rosters IS NULL THEN
        RETURN;
    END IF;

    closed := array_fill(false, ARRAY[cardinality(convs)]);
    FOR i IN loops..cardinality(ids) LOOP
        c := conv[i];
        SELECT s.* INTO e FROM journal_entries s WHERE s.id = ids[i] AND s.no = nos[c] AND s.slot + 0 = slots[c] AND s.sender = senders[i];
        IF FOUND THEN
            status := CASE WHEN e.hash = hashes[i] THEN 2 ELSE 3 END;
        ELSIF closed[c] OR item_ifs[i] <> rosters[c] THEN
            closed[c] := true;
            status := 4;
        ELSE
            status := 1;
            IF amends[i] > 0 THEN
                IF greatest(targets[i], ofs[i]) > h_seq[c] + items[c] THEN
                    RAISE EXCEPTION USING ERRCODE = 'SK003', MESSAGE = 'an item amends an entry that is not there';
                END IF;
                -- What has no body, as it was recalled or trimmed, is changed by nothing but a
                -- recall.
                UPDATE journal_entries s SET body = coalesce(states[i], ''), amended = h_seq[c] + items[c] + 1,
                        recalled = CASE WHEN amends[i] = 2 THEN true ELSE s.recalled END
                    WHERE s.slot = slots[c] AND s.no = nos[c] AND s.seq = coalesce(ofs[i], targets[i])
                        AND (amends[i] = 2 OR octet_length(s.body) > 0 AND coalesce(s.amended, 0) = amend_ifs[i]);
                IF NOT FOUND THEN
                    closed[c] := true;
                    status := 7;
                ELSIF amends[i] = 3 THEN
                    UPDATE journal_entries s SET body = '', amended = h_seq[c] + items[c] + 1, recalled = true
                        WHERE s.slot = slots[c] AND s.no = nos[c] AND s.seq = targets[i];
                END IF;
            END IF;
        END IF;
        IF status = 1 THEN
            items[c] := items[c] + 1;
            IF kinds[i] = 1 THEN
                messages[c] := messages[c] + 1;
            END IF;
            IF item_sets[i] <> 0 THEN
                rosters[c] := item_sets[i];
            END IF;
            INSERT INTO journal_entries AS s (slot, no, seq, count, stored, pos, hash, roster, id, kind, body, sender, target)
                VALUES (slots[c], nos[c], h_seq[c] + items[c], h_count[c] + messages[c], h_stored[c], h_pos[c],
                    hashes[i], nullif(rosters[c], 0), ids[i], kinds[i], bodies[i], senders[i], targets[i])
                RETURNING s.* INTO e;
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
            stored = CASE WHEN u.n > 0 THEN h.stored ELSE coalesce((SELECT s.stored FROM journal_entries s WHERE s.slot = h.slot AND s.no = h.no AND s.seq = u.seq), 0) END,
            pos = CASE WHEN u.n > 0 THEN h.pos ELSE coalesce((SELECT s.pos FROM journal_entries s WHERE s.slot = h.slot AND s.no = h.no AND s.seq = u.seq), 0) END
        FROM unnest(slots, convs, items, messages, rosters, h_seq, h_count, counted) u(slot, name, n, m, roster, seq, count, counted)
        WHERE h.slot = u.slot AND h.conversation = u.name AND (u.n <> u.counted OR u.n = 0);
END
$$;

-- journal_append_2 is what programs call that know nothing of `ofs`.
CREATE OR REPLACE FUNCTION journal_append_2(
    fresh int[], nths int[], slots smallint[], convs text[], ifs bigint[], items int[], messages int[], loops int, look bool,
    conv int[], nth int[], mth int[], ids uuid[], senders text[], hashes bigint[], kinds smallint[], bodies bytea[], targets bigint[],
    item_ifs bigint[], item_sets bigint[], amends smallint[], amend_ifs bigint[], states bytea[],
    OUT at_pos bigint, OUT at_ms bigint,
    OUT h_seq bigint[], OUT h_count bigint[], OUT h_stored bigint[], OUT h_roster bigint[], OUT h_pos bigint[],
    OUT x_item int[], OUT x_status smallint[], OUT x_seq bigint[], OUT x_count bigint[], OUT x_stored bigint[], OUT x_pos bigint[], OUT x_roster bigint[])
LANGUAGE sql AS $$
    SELECT * FROM journal_append_3(fresh, nths, slots, convs, ifs, items, messages, loops, look, conv, nth, mth, ids, senders, hashes, kinds, bodies, targets,
        item_ifs, item_sets, amends, amend_ifs, states, NULL)
$$;
