-- +goose Up

-- What a user keeps of another: their own tags, one a line.
ALTER TABLE contacts ADD COLUMN tags TEXT NOT NULL DEFAULT '';
-- When the open request was made; 0: by a program that knows only changed_at.
ALTER TABLE contacts ADD COLUMN asked_at BIGINT NOT NULL DEFAULT 0;
-- Before when user_id may not ask again, and how often in a row they were refused.
ALTER TABLE contacts ADD COLUMN ask_after BIGINT NOT NULL DEFAULT 0;
ALTER TABLE contacts ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
-- The user's revision of the last change. A side that has nothing to tell any more
-- keeps its row for a while, so that the change is told.
ALTER TABLE contacts ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
CREATE INDEX contacts_changes ON contacts (user_id, revision);
CREATE INDEX contacts_requests ON contacts ((COALESCE(NULLIF(asked_at, 0), changed_at))) WHERE state = 2;
CREATE INDEX contacts_over ON contacts (changed_at) WHERE state = 4 AND NOT blocked;

-- How often a user's contacts changed. What was removed up to revision floor is
-- remembered no more.
CREATE TABLE contact_revisions (
    user_id  TEXT   NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    floor    BIGINT NOT NULL
);

-- Who finds a user by their name (im.FindPolicy); 0: anyone.
ALTER TABLE users ADD COLUMN find_policy BIGINT NOT NULL DEFAULT 0;
-- The display name, folded for search; NULL: not yet.
ALTER TABLE users ADD COLUMN search_name TEXT;
CREATE INDEX users_search ON users (search_name, id);
CREATE INDEX users_unfolded ON users (id) WHERE search_name IS NULL;

-- +goose Down
DROP TABLE contact_revisions;
DROP INDEX contacts_over;
DROP INDEX contacts_requests;
DROP INDEX contacts_changes;
DROP INDEX users_unfolded;
DROP INDEX users_search;
ALTER TABLE contacts DROP COLUMN revision;
ALTER TABLE contacts DROP COLUMN refusals;
ALTER TABLE contacts DROP COLUMN ask_after;
ALTER TABLE contacts DROP COLUMN asked_at;
ALTER TABLE contacts DROP COLUMN tags;
ALTER TABLE users DROP COLUMN search_name;
ALTER TABLE users DROP COLUMN find_policy;
