package im

import "time"

// Upload is something that somebody uploads, or has uploaded (SPEC §13).
type Upload struct {
	ID    string
	Owner UserID
	// Ready: it is complete, and was looked at.
	Ready bool
	// Size is how many bytes there are, as the uploader said, and once it is ready as they
	// are kept; Received how many the uploader sent.
	Size, Received int64
	MediaFacts
	// Hash is the SHA-256 of what is kept, in hexadecimal digits, and Blob the name under
	// which it is kept; Thumbnail is that of the small picture. Empty: there is none.
	Hash, Blob, Thumbnail string
	Created               time.Time
	// Expires is when it is thrown away; zero while a message names it, or may.
	Expires time.Time
}

// MediaFacts are what is told of an upload.
type MediaFacts struct {
	Name, MIME    string
	Width, Height uint32
	Duration      time.Duration
	Blurhash      string
	Waveform      []byte
}

// MediaPiece is a part of what was received of an upload.
type MediaPiece struct {
	Start, Size int64
	Blob        string
}

// MediaQuota is how much a user may upload.
type MediaQuota struct {
	// Bytes of all uploads that are kept; 0: no bound.
	Bytes int64
	// Open is how many may be incomplete at a time.
	Open int
	// PerHour is how many may be begun in an hour; 0: no bound.
	PerHour int
}

// MediaName is a message that names an upload, or may do so: it is kept before the
// message is stored.
type MediaName struct {
	Media        string
	Conversation ConversationID
	Sender       UserID
	ID           MessageID
	// Hash is the message's.
	Hash uint64
	// CheckAt is when the journal is asked whether it does, for the first time or again.
	CheckAt time.Time
}

// ServerUploads owns what the server uploads itself. It is no user's id, and users have
// none of its rights.
const ServerUploads UserID = "*"

// Preview is what a link leads to (SPEC §4.34).
type Preview struct {
	URL, Title, Description, Site string
	// Image is the id of an upload, "" for none.
	Image string
}
