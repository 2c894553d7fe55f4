package account

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

// TOTP, RFC 6238, with what all authenticator apps know: SHA-1, 6 digits, 30 s. It is
// written here because the libraries bring what draws QR codes along, and it is short.
const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpBytes  = 20
	// totpDrift is by how many steps a clock may be wrong.
	totpDrift = 1
)

// totpAt is the code of a step.
func totpAt(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes everything
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	n := binary.BigEndian.Uint32(sum[at:]) & (1<<31 - 1)
	return fmt.Sprintf("%06d", n%1_000_000)
}

// totpFind returns the step of a code that is right now and lies behind the last one
// that was taken, 0 if it is none.
func totpFind(secret []byte, code string, now time.Time, last int64) (found int64) {
	this := now.Unix() / int64(totpStep/time.Second)
	for step := this - totpDrift; step <= this+totpDrift; step++ {
		if subtle.ConstantTimeCompare([]byte(totpAt(secret, step)), []byte(code)) == 1 && step > last {
			found = step
		}
	}
	return found
}

func totpSecret(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// totpURI is what QR codes for authenticator apps say.
func totpURI(issuer, username string, secret []byte) string {
	q := url.Values{"secret": {totpSecret(secret)}, "issuer": {issuer}}
	return (&url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + username, RawQuery: q.Encode()}).String()
}
