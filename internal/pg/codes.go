package pg

// Codes of the server's errors (SQLSTATE) that somebody tells apart.
const (
	UniqueViolation      = "23505"
	NotNullViolation     = "23502"
	SerializationFailure = "40001"
	DeadlockDetected     = "40P01"
	LockNotAvailable     = "55P03" // waited for a lock
	DiskFull             = "53100"
	TooLarge             = "54000" // a statement, or a row
	UndefinedTable       = "42P01"
	PlanChanged          = "0A000" // by a migration, while the driver kept a statement
	ResolutionUnknown    = "08007" // of a transaction: whether it was committed
	CompletionUnknown    = "40003" // of a statement
	ReadOnly             = "25006" // a former primary
	// SequenceFull: there are as many conversations as one database can have.
	SequenceFull = "2200H"
)

// Damaged tells of a code that it means that what the server has stored cannot be read:
// a page, or an index.
func Damaged(code string) bool { return code == "XX001" || code == "XX002" }

// Away tells of a code that it means that the server could not do now what it was
// asked, with nothing wrong about the question: it starts, ends, has no room, is a
// standby, gave a statement up that took too long or waited for a lock, or lost
// against another transaction.
func Away(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", "53", "57", "58", "40":
		return true
	}
	switch code {
	case LockNotAvailable, ReadOnly,
		"55006", // in use
		"25P03", // idle in a transaction for too long
		"25P04":
		return true
	}
	return false
}
