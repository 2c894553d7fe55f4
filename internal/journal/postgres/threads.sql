-- Version 7: journal_append_3 (functions.sql), by which what is recalled and what it says
-- of another entry change in one step, and labels of an entry that has a target.

-- journal_label_2 is journal_label_1 with `ofs`, the entries that items change besides
-- what they recall, and with a third way in `ons`: 2 puts a label on the item itself.
CREATE FUNCTION journal_label_2(items int[], statuses smallint[], seqs bigint[], conv int[], slots smallint[], convs text[], targets bigint[], ofs bigint[],
    of int[], labels text[], ons smallint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    i int;
    k int;
    number int;
    at bigint;
    its bigint;
BEGIN
    FOR i IN 1..coalesce(cardinality(of), 0) LOOP
        k := array_position(items, of[i]);
        CONTINUE WHEN k IS NULL OR statuses[k] <> 1;
        at := CASE WHEN ons[i] = 2 THEN seqs[k] ELSE coalesce(ofs[of[i]], targets[of[i]], seqs[k]) END;
        SELECT h.no, e.pos INTO number, its FROM journal_heads h JOIN journal_entries e ON e.slot = h.slot AND e.no = h.no AND e.seq = at
            WHERE h.slot = slots[conv[of[i]]] AND h.conversation = convs[conv[of[i]]];
        IF ons[i] > 0 THEN
            INSERT INTO journal_labels (slot, no, label, seq, pos) VALUES (slots[conv[of[i]]], number, labels[i], at, its) ON CONFLICT DO NOTHING;
        ELSE
            DELETE FROM journal_labels l WHERE l.slot = slots[conv[of[i]]] AND l.no = number AND l.label = labels[i] AND l.seq = at;
        END IF;
    END LOOP;
END
$$;
