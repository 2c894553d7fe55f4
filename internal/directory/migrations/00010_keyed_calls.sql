-- +goose Up

-- Calls that came with an idempotency key (im.KeyedCall). held is 0 while nobody
-- carries the call out, answer NULL while there is none.
CREATE TABLE keyed_calls (
    id      BYTEA  NOT NULL PRIMARY KEY,
    caller  TEXT   NOT NULL,
    request BYTEA  NOT NULL,
    begun   BIGINT NOT NULL,
    held    BIGINT NOT NULL,
    answer  BYTEA
);
CREATE INDEX keyed_calls_caller ON keyed_calls (caller, begun);
CREATE INDEX keyed_calls_begun ON keyed_calls (begun);

-- +goose Down
DROP TABLE keyed_calls;
