-- The indexes of entries.
CREATE UNIQUE INDEX journal_entries_seq ON journal_entries (slot, no, seq);
-- Ids carry their time, so new ones lie together at the end.
CREATE UNIQUE INDEX journal_entries_id ON journal_entries (id, no, slot, sender);
-- Of several intervals for each range of pages: newer entries are stored where older ones
-- were trimmed (positions.go, which makes this one of the kind of before).
CREATE INDEX journal_entries_pos ON journal_entries USING brin (pos int8_minmax_multi_ops) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX journal_entries_recalled ON journal_entries (slot, no, seq) WHERE recalled AND kind = 1;
