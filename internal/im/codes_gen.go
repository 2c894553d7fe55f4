// Code generated from proto/codes.json by proto/codesgen. DO NOT EDIT.

package im

// Code names what went wrong; see proto/CODES.md.
type Code string

const (
	// The server has more to do than it can; nothing was stored.
	CodeOverloaded Code = "overloaded"
	// Too many requests of this kind; wait retry_after_ms.
	CodeRateLimited Code = "rate_limited"
	// A part of the server is not there just now.
	CodeUnavailable Code = "unavailable"
	// The server's disk is full; nothing was stored. Reading still works.
	CodeStorageFull Code = "storage_full"
	// It may or may not have been stored: repeat it with the same id to know.
	CodeUnknown Code = "unknown"
	// Somebody changed the same thing at the same time; read it again and repeat.
	CodeConflict Code = "conflict"
	// An earlier message of this connection to the conversation was refused for now and has to come first (SendError.first); nothing was stored.
	CodeOutOfOrder Code = "out_of_order"
	// The group lets its members write a message once in a while only; wait retry_after_ms. Nothing was stored.
	CodeSlowMode Code = "slow_mode"
	// The server stops or restarts.
	CodeGoingAway Code = "going_away"
	// No Hello within the deadline.
	CodeHelloTimeout Code = "hello_timeout"
	// Silence: not a byte within the agreed time.
	CodeHeartbeatTimeout Code = "heartbeat_timeout"
	// The client did not read what it was sent.
	CodeSlowConsumer Code = "slow_consumer"
	// The server failed; the log has the detail under the given reference.
	CodeInternal Code = "internal"
	// The server, the account or the address has as many connections as it may.
	CodeTooManyConnections Code = "too_many_connections"
	// The client went on asking in spite of rate_limited or out_of_order.
	CodeFlood Code = "flood"
	// The server could not take the Hello just now; the message tells why.
	CodeNotReady Code = "not_ready"
	// Not a token of this server, or no longer.
	CodeTokenInvalid Code = "token_invalid"
	// The access token's time is over: refresh it.
	CodeTokenExpired Code = "token_expired"
	// The session was ended: logout, remote logout, password change.
	CodeSessionRevoked Code = "session_revoked"
	// A refresh token was used twice; the session was ended because one of the users is not you.
	CodeTokenReused Code = "token_reused"
	// Another device of the same class took this one's place.
	CodeReplaced Code = "replaced"
	// The account is banned or disabled; the message tells until when, and why.
	CodeBanned Code = "banned"
	// Client and server share no protocol version; update.
	CodeVersionUnsupported Code = "version_unsupported"
	// The bytes are not frames of this protocol, or come in an order that makes no sense.
	CodeProtocolError Code = "protocol_error"
	// A frame exceeds Limits.frame_bytes.
	CodeFrameTooLong Code = "frame_too_long"
	// The token belongs to another device.
	CodeDeviceMismatch Code = "device_mismatch"
	// The server does not know the codec that was asked for.
	CodeCodecUnsupported Code = "codec_unsupported"
	// Pages of this site may not connect; the server has a list of those that may.
	CodeOriginRefused Code = "origin_refused"
	// The account was deleted, by its user or by an administrator.
	CodeAccountDeleted Code = "account_deleted"
	// A field is missing or not as documented; the message names it.
	CodeInvalidArgument Code = "invalid_argument"
	// The caller may not do this.
	CodePermissionDenied Code = "permission_denied"
	// It does not exist, or the caller may not know that it does.
	CodeNotFound Code = "not_found"
	// The name is taken.
	CodeAlreadyExists Code = "already_exists"
	// This server does not know this frame or method.
	CodeUnimplemented Code = "unimplemented"
	// The id was used for another message, or the idempotency key with another request.
	CodeIdConflict Code = "id_conflict"
	// Longer or more than allowed; the message tells the limit.
	CodeTooLarge Code = "too_large"
	// The member may not write in this group for now: until the time in the message, or until admins let all write again.
	CodeMuted Code = "muted"
	// This user takes messages from contacts only.
	CodeNotContact Code = "not_contact"
	// User name or password is wrong.
	CodeBadCredentials Code = "bad_credentials"
	// The time to do this is over (e.g. recall window).
	CodeTooLate Code = "too_late"
	// This needs a token and none was sent.
	CodeUnauthenticated Code = "unauthenticated"
	// The id's time lies too far in the future: make a new id by the server's time (Welcome.server_time_ms). Nothing was stored.
	CodeClockSkew Code = "clock_skew"
	// The server fails at this very request, and would again; its log has the detail under the given reference. Nothing was stored.
	CodeUnprocessable Code = "unprocessable"
	// The server does not have what the streamed message says before this part: say all of it (content).
	CodePartMissing Code = "part_missing"
	// The password is right, and the account needs a code of an authenticator app as well: LoginWithCode with Error.ticket, within 5 minutes.
	CodeTotpRequired Code = "totp_required"
	// The server's scanner found something harmful in the upload; it was thrown away.
	CodeInfected Code = "infected"
	// The deployment does not allow what this says; it does not tell what of it. Nothing was stored.
	CodeFiltered Code = "filtered"
)

// Action is what a client does about a code.
type Action string

const (
	// Passing. The connection is fine: repeat the same request later (retry_after_ms if given).
	ActionRetry Action = "retry"
	// The connection ended; reconnect with back-off and resume.
	ActionReconnect Action = "reconnect"
	// The token is no longer good: refresh it or log in again, then reconnect.
	ActionLogin Action = "login"
	// Do not reconnect by yourself: somebody has to act first.
	ActionStop Action = "stop"
	// The request is wrong or not allowed: repeating it unchanged gives the same answer. The connection is fine.
	ActionFix Action = "fix"
)

// CodeInfo is a row of the catalogue.
type CodeInfo struct {
	Code Code
	// Number is also the WebSocket close code.
	Number int
	HTTP   int
	Action Action
}

// Codes lists the catalogue by number.
func Codes() []CodeInfo {
	return []CodeInfo{
		{CodeOverloaded, 4000, 503, ActionRetry},
		{CodeRateLimited, 4001, 429, ActionRetry},
		{CodeUnavailable, 4002, 503, ActionRetry},
		{CodeStorageFull, 4003, 507, ActionRetry},
		{CodeUnknown, 4004, 504, ActionRetry},
		{CodeConflict, 4005, 409, ActionRetry},
		{CodeOutOfOrder, 4006, 409, ActionRetry},
		{CodeSlowMode, 4007, 429, ActionRetry},
		{CodeGoingAway, 4200, 503, ActionReconnect},
		{CodeHelloTimeout, 4201, 408, ActionReconnect},
		{CodeHeartbeatTimeout, 4202, 408, ActionReconnect},
		{CodeSlowConsumer, 4203, 408, ActionReconnect},
		{CodeInternal, 4204, 500, ActionReconnect},
		{CodeTooManyConnections, 4205, 503, ActionReconnect},
		{CodeFlood, 4206, 429, ActionReconnect},
		{CodeNotReady, 4207, 503, ActionReconnect},
		{CodeTokenInvalid, 4400, 401, ActionLogin},
		{CodeTokenExpired, 4401, 401, ActionLogin},
		{CodeSessionRevoked, 4402, 401, ActionLogin},
		{CodeTokenReused, 4403, 401, ActionLogin},
		{CodeReplaced, 4600, 409, ActionStop},
		{CodeBanned, 4601, 403, ActionStop},
		{CodeVersionUnsupported, 4602, 426, ActionStop},
		{CodeProtocolError, 4603, 400, ActionStop},
		{CodeFrameTooLong, 4604, 413, ActionStop},
		{CodeDeviceMismatch, 4605, 403, ActionStop},
		{CodeCodecUnsupported, 4606, 415, ActionStop},
		{CodeOriginRefused, 4607, 403, ActionStop},
		{CodeAccountDeleted, 4608, 410, ActionStop},
		{CodeInvalidArgument, 4800, 400, ActionFix},
		{CodePermissionDenied, 4801, 403, ActionFix},
		{CodeNotFound, 4802, 404, ActionFix},
		{CodeAlreadyExists, 4803, 409, ActionFix},
		{CodeUnimplemented, 4804, 501, ActionFix},
		{CodeIdConflict, 4805, 409, ActionFix},
		{CodeTooLarge, 4806, 413, ActionFix},
		{CodeMuted, 4807, 403, ActionFix},
		{CodeNotContact, 4808, 403, ActionFix},
		{CodeBadCredentials, 4809, 401, ActionFix},
		{CodeTooLate, 4810, 409, ActionFix},
		{CodeUnauthenticated, 4811, 401, ActionFix},
		{CodeClockSkew, 4812, 400, ActionFix},
		{CodeUnprocessable, 4813, 500, ActionFix},
		{CodePartMissing, 4814, 409, ActionFix},
		{CodeTotpRequired, 4815, 401, ActionFix},
		{CodeInfected, 4816, 422, ActionFix},
		{CodeFiltered, 4817, 422, ActionFix},
	}
}

// Info returns the code's row. An unknown code is treated as `internal`.
func (c Code) Info() CodeInfo {
	switch c {
	case CodeOverloaded:
		return CodeInfo{c, 4000, 503, ActionRetry}
	case CodeRateLimited:
		return CodeInfo{c, 4001, 429, ActionRetry}
	case CodeUnavailable:
		return CodeInfo{c, 4002, 503, ActionRetry}
	case CodeStorageFull:
		return CodeInfo{c, 4003, 507, ActionRetry}
	case CodeUnknown:
		return CodeInfo{c, 4004, 504, ActionRetry}
	case CodeConflict:
		return CodeInfo{c, 4005, 409, ActionRetry}
	case CodeOutOfOrder:
		return CodeInfo{c, 4006, 409, ActionRetry}
	case CodeSlowMode:
		return CodeInfo{c, 4007, 429, ActionRetry}
	case CodeGoingAway:
		return CodeInfo{c, 4200, 503, ActionReconnect}
	case CodeHelloTimeout:
		return CodeInfo{c, 4201, 408, ActionReconnect}
	case CodeHeartbeatTimeout:
		return CodeInfo{c, 4202, 408, ActionReconnect}
	case CodeSlowConsumer:
		return CodeInfo{c, 4203, 408, ActionReconnect}
	case CodeInternal:
		return CodeInfo{c, 4204, 500, ActionReconnect}
	case CodeTooManyConnections:
		return CodeInfo{c, 4205, 503, ActionReconnect}
	case CodeFlood:
		return CodeInfo{c, 4206, 429, ActionReconnect}
	case CodeNotReady:
		return CodeInfo{c, 4207, 503, ActionReconnect}
	case CodeTokenInvalid:
		return CodeInfo{c, 4400, 401, ActionLogin}
	case CodeTokenExpired:
		return CodeInfo{c, 4401, 401, ActionLogin}
	case CodeSessionRevoked:
		return CodeInfo{c, 4402, 401, ActionLogin}
	case CodeTokenReused:
		return CodeInfo{c, 4403, 401, ActionLogin}
	case CodeReplaced:
		return CodeInfo{c, 4600, 409, ActionStop}
	case CodeBanned:
		return CodeInfo{c, 4601, 403, ActionStop}
	case CodeVersionUnsupported:
		return CodeInfo{c, 4602, 426, ActionStop}
	case CodeProtocolError:
		return CodeInfo{c, 4603, 400, ActionStop}
	case CodeFrameTooLong:
		return CodeInfo{c, 4604, 413, ActionStop}
	case CodeDeviceMismatch:
		return CodeInfo{c, 4605, 403, ActionStop}
	case CodeCodecUnsupported:
		return CodeInfo{c, 4606, 415, ActionStop}
	case CodeOriginRefused:
		return CodeInfo{c, 4607, 403, ActionStop}
	case CodeAccountDeleted:
		return CodeInfo{c, 4608, 410, ActionStop}
	case CodeInvalidArgument:
		return CodeInfo{c, 4800, 400, ActionFix}
	case CodePermissionDenied:
		return CodeInfo{c, 4801, 403, ActionFix}
	case CodeNotFound:
		return CodeInfo{c, 4802, 404, ActionFix}
	case CodeAlreadyExists:
		return CodeInfo{c, 4803, 409, ActionFix}
	case CodeUnimplemented:
		return CodeInfo{c, 4804, 501, ActionFix}
	case CodeIdConflict:
		return CodeInfo{c, 4805, 409, ActionFix}
	case CodeTooLarge:
		return CodeInfo{c, 4806, 413, ActionFix}
	case CodeMuted:
		return CodeInfo{c, 4807, 403, ActionFix}
	case CodeNotContact:
		return CodeInfo{c, 4808, 403, ActionFix}
	case CodeBadCredentials:
		return CodeInfo{c, 4809, 401, ActionFix}
	case CodeTooLate:
		return CodeInfo{c, 4810, 409, ActionFix}
	case CodeUnauthenticated:
		return CodeInfo{c, 4811, 401, ActionFix}
	case CodeClockSkew:
		return CodeInfo{c, 4812, 400, ActionFix}
	case CodeUnprocessable:
		return CodeInfo{c, 4813, 500, ActionFix}
	case CodePartMissing:
		return CodeInfo{c, 4814, 409, ActionFix}
	case CodeTotpRequired:
		return CodeInfo{c, 4815, 401, ActionFix}
	case CodeInfected:
		return CodeInfo{c, 4816, 422, ActionFix}
	case CodeFiltered:
		return CodeInfo{c, 4817, 422, ActionFix}
	}
	return CodeInfo{c, 4204, 500, ActionReconnect}
}
