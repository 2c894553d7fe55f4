package pgtest

import (
	"fmt"
	"time"
)

// MoveClock sets how far the clock that a database's statements ask (clock_timestamp) is
// before the server's. It holds for connections that are made after the first call.
func MoveClock(database string, ahead time.Duration) error {
	// A function of the same name comes first, where pg_catalog is named behind its schema.
	return run(database, fmt.Sprintf(`
		CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
			AS 'SELECT pg_catalog.clock_timestamp() + interval ''%d microseconds''';
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET search_path = public, pg_catalog', current_database()); END $$`, ahead.Microseconds()))
}
