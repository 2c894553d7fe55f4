package api

import "github.com/skein-im/skein/internal/account"

// providerBounds is of logins by providers.
func providerBounds() map[string]Bounds {
	const (
		address   = "^[!-~]*$"
		said      = "^[!-~]*$"
		challenge = "^[A-Za-z0-9_-]{43}$"
		name      = "^[a-z0-9_-]{1,32}$"
	)
	secret := Bounds{Required: true, Pattern: "^[!-~]{43,128}$", MaxLength: account.MaxVerifier}
	own := Bounds{MaxLength: maxPasswordChars}
	return map[string]Bounds{
		"ChangeUsernameRequest.username":           matching(namePattern).required(),
		"ChangeUsernameRequest.password":           own,
		"ChangeUsernameResponse.user":              {Required: true},
		"SetUsernameRequest.user":                  id().required(),
		"SetUsernameRequest.username":              matching(namePattern).required(),
		"SetUsernameResponse.user":                 {Required: true},
		"LoginProvider.name":                       matching(name).required(),
		"LoginProvider.title":                      title(maxNameChars).required(),
		"ListLoginProvidersResponse.providers":     list(20),
		"BeginProviderLoginRequest.provider":       matching("^[!-~]{1,64}$").required(),
		"BeginProviderLoginRequest.challenge":      matching(challenge).required(),
		"BeginProviderLoginRequest.return_to":      {Pattern: address, MaxLength: account.MaxReturnTo},
		"BeginProviderLoginResponse.url":           {Required: true, Pattern: "^https?://[!-~]+$", MaxLength: 4096},
		"BeginProviderLoginResponse.expires_at_ms": millis().required(),
		"AnswerProviderLoginRequest.state":         matching(tokenPattern).required(),
		"AnswerProviderLoginRequest.code":          {Pattern: said, MaxLength: maxAnswerBytes},
		"AnswerProviderLoginRequest.issuer":        matching(maybeToken),
		"AnswerProviderLoginRequest.error":         matching(maybeToken),
		"AnswerProviderLoginResponse.code":         matching(maybeToken),
		"AnswerProviderLoginResponse.return_to":    {Pattern: address, MaxLength: 2 * account.MaxReturnTo},
		"FinishProviderLoginRequest.code":          matching(tokenPattern).required(),
		"FinishProviderLoginRequest.verifier":      secret,
		"FinishProviderLoginResponse.tokens":       {Required: true},
		"LinkIdentityRequest.code":                 matching(tokenPattern).required(),
		"LinkIdentityRequest.verifier":             secret,
		"LinkIdentityRequest.password":             own,
		"LinkIdentityResponse.identity":            {Required: true},
		"Identity.id":                              id().required(),
		"Identity.provider":                        matching(name).required(),
		"Identity.name":                            title(maxNameChars).required(),
		"Identity.email":                           line(1024),
		"Identity.created_at_ms":                   millis().required(),
		"Identity.last_used_at_ms":                 millis().required(),
		"ListIdentitiesResponse.identities":        list(account.MaxIdentities),
		"UnlinkIdentityRequest.id":                 id().required(),
		"UnlinkIdentityRequest.password":           own,
	}
}
