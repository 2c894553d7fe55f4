package im

import "time"

// Report is what a member said of a message, for moderators.
type Report struct {
	// ID orders the reports.
	ID           MessageID
	Conversation ConversationID
	Seq          uint64
	// Author wrote the message, Reporter reports it; "": the server (ReportFilter).
	Author, Reporter UserID
	Reason           ReportReason
	Text             string
	// Said is what the message said when it was reported, as the JSON of its content, as far
	// as it is kept.
	Said    string
	Created time.Time
	State   ReportState
	// DecidedBy decided at a time, "" with a time: by the admin key; Note is what they did.
	DecidedBy UserID
	Decided   time.Time
	Note      string
}

// ReportReason is why. The numbers are the contract's.
type ReportReason uint8

// ReportFilter is the server's own reason; then nobody is the Reporter.
const ReportFilter ReportReason = 5

// ReportState is what became of a report. The numbers are the contract's.
type ReportState uint8

// The states.
const (
	ReportOpen      ReportState = 1
	ReportResolved  ReportState = 2
	ReportDismissed ReportState = 3
)

// ReportQuery asks for reports: Limit of them behind After, the newest first; those in a
// state, or about what a user wrote, if set.
type ReportQuery struct {
	After  MessageID
	Limit  int
	State  ReportState
	Author UserID
}
