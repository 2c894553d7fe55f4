package api

import (
	"math"

	"github.com/skein-im/skein/internal/account"
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
