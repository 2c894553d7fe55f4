-- Version 5: labels (im.Append.Labels), by which entries are found again.
CREATE TABLE journal_labels (
    seq   bigint   NOT NULL, -- of the entry that has the label
    pos   bigint   NOT NULL, -- the entry's
    no    int      NOT NULL, -- of the conversation
    slot  smallint NOT NULL,
    label text     COLLATE "C" NOT NULL,
    PRIMARY KEY (slot, no, label, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);

-- journal_label_1 writes labels of what journal_append stored in the same statement:
-- items, statuses and seqs are the x_ arrays of its answer, where every item of a
-- conversation with labels is; of and labels are parallel, and say which item puts a
-- label on (1) or takes it off (0), in their order.
CREATE FUNCTION journal_label_1(items int[], statuses smallint[], seqs bigint[], conv int[], slots smallint[], convs text[], targets bigint[],
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
        at := coalesce(targets[of[i]], seqs[k]);
        SELECT h.no, e.pos INTO number, its FROM journal_heads h JOIN journal_entries e ON e.slot = h.slot AND e.no = h.no AND e.seq = at
            WHERE h.slot = slots[conv[of[i]]] AND h.conversation = convs[conv[of[i]]];
        IF ons[i] = 1 THEN
            INSERT INTO journal_labels (slot, no, label, seq, pos) VALUES (slots[conv[of[i]]], number, labels[i], at, its) ON CONFLICT DO NOTHING;
        ELSE
            DELETE FROM journal_labels l WHERE l.slot = slots[conv[of[i]]] AND l.no = number AND l.label = labels[i] AND l.seq = at;
        END IF;
    END LOOP;
END
$$;
