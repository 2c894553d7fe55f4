package api

import (
	"math"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/trail"
)

// roleBounds is of roles, and of what administrators see of accounts.
func roleBounds() map[string]Bounds {
	return map[string]Bounds{
		"GetMeResponse.session":        optionalID(),
		"GetMeResponse.server_version": line(100),

		"Account.user":            {Required: true},
		"Account.state":           {Required: true},
		"Account.banned_until_ms": millis(),
		"Account.ban_reason":      line(account.MaxBanReason),
		"Account.created_at_ms":   millis().required(),
		"Account.last_seen_at_ms": millis(),
		"Account.sessions":        number(0, math.MaxUint32),
		"Account.storage_bytes":   count(),

		"AuditEntry.id":      id().required(),
		"AuditEntry.at_ms":   millis().required(),
		"AuditEntry.kind":    {Required: true},
		"AuditEntry.action":  Bounds{MinLength: 1, MaxLength: auditText}.required(),
		"AuditEntry.by":      optionalID(),
		"AuditEntry.target":  {MaxLength: auditText},
		"AuditEntry.address": {MaxLength: 64, MaxBytes: 64},
		"AuditEntry.device":  {MaxLength: 400},
		"AuditEntry.session": optionalID(),
		"AuditEntry.code":    {MaxLength: 64},
		"AuditEntry.detail":  {MaxLength: auditDetail},
		"AuditEntry.times":   number(1, math.MaxUint32).required(),

		"ListAuditLogRequest.limit":    page(100, trail.MaxPage),
		"ListAuditLogRequest.cursor":   optionalID().format("cursor"),
		"ListAuditLogRequest.by":       {MaxLength: auditText, MaxBytes: auditText},
		"ListAuditLogRequest.target":   {MaxLength: auditText, MaxBytes: auditText},
		"ListAuditLogRequest.action":   {MaxLength: auditText, MaxBytes: auditText},
		"ListAuditLogRequest.from_ms":  millis(),
		"ListAuditLogRequest.until_ms": millis(),
		"ListAuditLogResponse.entries": list(trail.MaxPage),
		"ListAuditLogResponse.next":    optionalID(),

		"ListUsersRequest.query":       line(account.MaxPrefix),
		"ListUsersResponse.accounts":   list(500),
		"BanUserRequest.user":          id().required().format("user"),
		"BanUserRequest.until_ms":      millis().format("later"),
		"BanUserRequest.reason":        line(account.MaxBanReason),
		"BanUserResponse.sessions":     number(0, math.MaxUint32),
		"UnbanUserRequest.user":        id().required().format("user"),
		"SetDisabledRequest.user":      id().required().format("user"),
		"SetDisabledResponse.sessions": number(0, math.MaxUint32),
		"SetServerRoleRequest.user":    id().required().format("user"),
	}
}
