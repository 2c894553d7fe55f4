-- Version 3: which programs may use the tables (internal/schema). Every connection
-- of a process holds a shared advisory lock on the version that its program knows:
-- a step that shuts out programs which know less takes those locks alone, so it is
-- not taken while one of them is connected, and none connects meanwhile.

ALTER TABLE journal_meta ADD COLUMN least int NOT NULL DEFAULT 3; -- what a program must know

-- journal_adopt is for a program that knows the tables up to a version. One that
-- knows less than it must is told so, and changes nothing.
CREATE FUNCTION journal_adopt_3(name text, new_era bigint, known int,
    OUT now_timeline text, OUT now_era bigint, OUT now_version int, OUT now_least int, OUT moved bool, OUT lost bool)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_lock_shared(720541601, known);
    SELECT m.version, m.least INTO STRICT now_version, now_least FROM journal_meta m;
    IF known >= now_least THEN
        SELECT a.now_timeline, a.now_era, a.moved, a.lost INTO now_timeline, now_era, moved, lost FROM journal_adopt_2(name, new_era) a;
    END IF;
END
$$;
