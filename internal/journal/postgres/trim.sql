-- Version 6: trims (im.Trims). The same step makes journal_append_2 again, which
-- changes nothing any more that has no body: also programs of before call this one.

-- journal_trim_1 empties the entries of a conversation with after < seq ≤ until, and
-- answers the conversation's last seq, 0 if it has none. It locks the head first, as an
-- append does, so the two wait for each other there and nowhere else, and what it looks
-- at after that is as the append before it left it. The labels are looked for by each
-- that the conversation has: they lie by label.
CREATE FUNCTION journal_trim_1(its_slot smallint, name text, low bigint, high bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    number int;
    last bigint;
BEGIN
    SELECT h.no, h.seq INTO number, last FROM journal_heads h WHERE h.slot = its_slot AND h.conversation = name FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;

    UPDATE journal_entries e SET body = '', recalled = NULL, amended = NULL
        WHERE e.slot = its_slot AND e.no = number AND e.seq > low AND e.seq <= high
            AND (octet_length(e.body) > 0 OR e.recalled OR e.amended IS NOT NULL);

    WITH RECURSIVE names AS (
        (SELECT l.label FROM journal_labels l WHERE l.slot = its_slot AND l.no = number ORDER BY l.label LIMIT 1)
        UNION ALL
        SELECT (SELECT l.label FROM journal_labels l WHERE l.slot = its_slot AND l.no = number AND l.label > n.label ORDER BY l.label LIMIT 1)
            FROM names n WHERE n.label IS NOT NULL)
    DELETE FROM journal_labels l USING names n
        WHERE l.slot = its_slot AND l.no = number AND l.label = n.label AND l.seq > low AND l.seq <= high;
    RETURN last;
END
$$;
