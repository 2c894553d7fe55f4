package pgdial

// Away tells of the server's error codes (SQLSTATE) that mean that it could not
// do now what it was asked, with nothing wrong about the question: it starts,
// ends, has no room, is a standby, gave a statement up that took too long or
// waited for a lock, or lost against another transaction.
func Away(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", "53", "57", "58", "40":
		return true
	}
	switch code {
	case "55P03", // waited for a lock
		"55006", // in use
		"25006", // a former primary
		"25P03", // idle in a transaction for too long
		"25P04":
		return true
	}
	return false
}
