-- +goose Up

-- What this store knows of the pair that it is with the journal (im.Pair): one
-- row. changes grows with every commit of an embedded directory.
CREATE TABLE pair (
    one      BIGINT NOT NULL PRIMARY KEY,
    identity TEXT   NOT NULL,
    changes  BIGINT NOT NULL,
    journal  BIGINT NOT NULL
);
INSERT INTO pair (one, identity, changes, journal) VALUES (1, '', 0, 0);

-- +goose Down
DROP TABLE pair;
