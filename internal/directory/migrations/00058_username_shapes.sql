-- +goose Up

-- What usernames look like (im.UsernameShape): who takes another one is told that it is
-- taken for this one.
CREATE INDEX users_shape ON users (replace(replace(replace(replace(replace(replace(username, '1', 'l'), '0', 'o'), 'rn', 'm'), 'vv', 'w'), '_', '-'), '.', '-'));

-- +goose Down
DROP INDEX users_shape;
