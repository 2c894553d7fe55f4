package pg

import "testing"

// What the server could not do now may be asked again; a wrong question is wrong
// for ever.
func TestAway(t *testing.T) {
	for code, want := range map[string]bool{
		"57P01": true, "08006": true, DiskFull: true, "58030": true, DeadlockDetected: true, SerializationFailure: true, LockNotAvailable: true, ReadOnly: true, "25P03": true,
		UniqueViolation: false, NotNullViolation: false, UndefinedTable: false, SequenceFull: false, PlanChanged: false, "": false, "5": false,
	} {
		if Away(code) != want {
			t.Errorf("Away(%q) is %v", code, !want)
		}
	}
}
