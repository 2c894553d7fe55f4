// Package pushtest has what tests of Web Push need besides the server: a push service
// (Service) and browsers that are subscribed to it (Browser), which read what they are told
// with their private keys. They are written from RFC 8030, 8188, 8291 and 8292 alone, and
// share no code with internal/push.
package pushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Push is a message that a push service took.
type Push struct {
	Path, Topic, Urgency string
	TTL                  int
	Body                 []byte
}

// Service is a push service on loopback, with TLS. It refuses what no push service would
// take.
type Service struct {
	*httptest.Server

	mu      sync.Mutex
	took    []Push
	changed chan struct{}
	answer  func(path string) (status int, header http.Header)
	wrong   []error
}

// NewService starts one; Close ends it.
func NewService() *Service {
	s := &Service{changed: make(chan struct{})}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	return s
}

// Answer has pushes answered with a status in the place of 201; nil: no more.
func (s *Service) Answer(f func(path string) (status int, header http.Header)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Took are the pushes that were taken, and a channel that is closed when there are more.
func (s *Service) Took() ([]Push, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Push{}, s.took...), s.changed
}

// Wrong are the mistakes of whoever pushed.
func (s *Service) Wrong() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error{}, s.wrong...)
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	p, err := s.read(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.wrong = append(s.wrong, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.answer != nil {
		if status, header := s.answer(p.Path); status != 0 {
			for k, v := range header {
				w.Header()[k] = v
			}
			w.WriteHeader(status)
			return
		}
	}
	s.took = append(s.took, p)
	close(s.changed)
	s.changed = make(chan struct{})
	w.WriteHeader(http.StatusCreated)
}

func (s *Service) read(r *http.Request) (p Push, err error) {
	p = Push{Path: r.URL.Path, Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency")}
	if r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "aes128gcm" {
		return p, fmt.Errorf("%s with the coding %q", r.Method, r.Header.Get("Content-Encoding"))
	}
	if p.TTL, err = strconv.Atoi(r.Header.Get("TTL")); err != nil || p.TTL < 0 {
		return p, fmt.Errorf("the TTL %q", r.Header.Get("TTL"))
	}
	if len(p.Topic) > 32 || strings.Trim(p.Topic, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return p, fmt.Errorf("the topic %q", p.Topic)
	}
	if err := CheckAuthorization(r.Header.Get("Authorization"), "https://"+r.Host, time.Now()); err != nil {
		return p, err
	}
	if p.Body, err = io.ReadAll(io.LimitReader(r.Body, 1<<20)); err == nil && len(p.Body) > 4096 {
		err = fmt.Errorf("a body of %d bytes", len(p.Body))
	}
	return p, err
}

// CheckAuthorization checks a header of RFC 8292.
func CheckAuthorization(header, audience string, now time.Time) error {
	parts := strings.Split(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !strings.HasPrefix(header, "vapid t=") || len(parts) != 2 {
		return fmt.Errorf("the authorization %q", header)
	}
	point, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(point) != 65 {
		return fmt.Errorf("the key %q", parts[1])
	}
	jwt := strings.Split(parts[0], ".")
	if len(jwt) != 3 {
		return errors.New("the token is none")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	body, err := base64.RawURLEncoding.DecodeString(jwt[1])
	if err = errors.Join(err, json.Unmarshal(body, &claims)); err != nil {
		return err
	}
	left := time.Unix(claims.Exp, 0).Sub(now)
	if claims.Aud != audience || left <= 0 || left > 24*time.Hour {
		return fmt.Errorf("the claims %s for %s", body, audience)
	}
	sig, err := base64.RawURLEncoding.DecodeString(jwt[2])
	if err != nil || len(sig) != 64 {
		return errors.New("the signature is none")
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(jwt[0] + "." + jwt[1]))
	if !ecdsa.Verify(key, hash[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		return errors.New("the signature is wrong")
	}
	return nil
}

// Browser is one that is subscribed.
type Browser struct {
	Endpoint string
	Auth     []byte
	key      *ecdh.PrivateKey
}

// Subscribe makes a browser with an address of its own.
func (s *Service) Subscribe(name string) *Browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	auth := make([]byte, 16)
	_, _ = rand.Read(auth)
	return &Browser{Endpoint: s.URL + "/" + name, Auth: auth, key: key}
}

// Point is the browser's public key.
func (b *Browser) Point() []byte { return b.key.PublicKey().Bytes() }

// Of tells whether a push is for this browser.
func (b *Browser) Of(p *Push) bool { return strings.HasSuffix(b.Endpoint, p.Path) }

// Read decrypts what the browser is told.
func (b *Browser) Read(body []byte) ([]byte, error) { return Decrypt(b.key, b.Auth, body) }

// Decrypt reads a body of RFC 8291.
func Decrypt(key *ecdh.PrivateKey, auth, body []byte) ([]byte, error) {
	const head = 16 + 4 + 1
	if len(body) < head+65 || body[20] != 65 || binary.BigEndian.Uint32(body[16:]) < uint32(len(body)-head-65) {
		return nil, errors.New("the header is none")
	}
	salt, from := body[:16], body[head:head+65]
	sender, err := ecdh.P256().NewPublicKey(from)
	if err != nil {
		return nil, err
	}
	shared, err := key.ECDH(sender)
	if err != nil {
		return nil, err
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, e := hkdf.Key(sha256.New, secret, salt, info, n)
		err = errors.Join(err, e)
		return out
	}
	ikm := derive(shared, auth, "WebPush: info\x00"+string(key.PublicKey().Bytes())+string(from), 32)
	cek, nonce := derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16), derive(ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(cek)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, body[head+65:], nil)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(plain), "\x00")
	if !strings.HasSuffix(text, "\x02") {
		return nil, errors.New("the record has no delimiter")
	}
	return []byte(strings.TrimSuffix(text, "\x02")), nil
}
