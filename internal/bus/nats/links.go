package nats

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

// NodeName is the name that every node's certificate carries, and that both ends
// of a link look for: whoever else has a certificate of the same authority is no
// node.
const NodeName = "node.skein.internal"

// Certificates are files in PEM, instead of what is made of the secret. Cert and
// Key are read again at every new connection, so they may be renewed while the
// node runs.
type Certificates struct {
	// CA are the authorities that the other end's certificate comes from.
	CA string
	// Cert and Key are this node's. Cert names NodeName, for server and client use.
	Cert, Key string
}

func (c Certificates) given() bool { return c != Certificates{} }

// Check refuses files that are not there, cannot be read or do not belong together.
func (c Certificates) Check() error {
	if _, err := c.own(); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	if _, err := c.authorities(); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return nil
}

// keyring is what one end of a link shows, and whom it believes.
type keyring interface {
	own() (*tls.Certificate, error)
	authorities() (*x509.CertPool, error)
}

// derived is a keyring of the secret: an authority whose key is made of it, so
// that all nodes have the same one, and a key of this process's own.
type derived struct {
	cert tls.Certificate
	pool *x509.CertPool
}

// The certificates hold as long as the secret does. A node whose clock is wrong is
// let in all the same.
func lifetime() (from, until time.Time) {
	return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)
}

// authority makes the certificate and key that all nodes of a secret have.
func authority(secret string) (*x509.Certificate, ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "skein node links 1", ed25519.SeedSize)
	if err != nil {
		return nil, nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	from, until := lifetime()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "skein nodes"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// issue makes a certificate with a key of its own, for these names.
func issue(ca *x509.Certificate, caKey crypto.Signer, common string, names ...string) (tls.Certificate, error) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	from, until := lifetime()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: common}, NotBefore: from, NotAfter: until, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, public, caKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func derive(secret, name string) (*derived, error) {
	ca, key, err := authority(secret)
	if err != nil {
		return nil, err
	}
	d := &derived{pool: x509.NewCertPool()}
	d.pool.AddCert(ca)
	d.cert, err = issue(ca, key, name, NodeName)
	return d, err
}

func (d *derived) own() (*tls.Certificate, error)       { return &d.cert, nil }
func (d *derived) authorities() (*x509.CertPool, error) { return d.pool, nil }

func (c Certificates) own() (*tls.Certificate, error) {
	if c.Cert == "" {
		return &tls.Certificate{}, nil // an external NATS that asks for none
	}
	cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	return &cert, err
}

func (c Certificates) authorities() (*x509.CertPool, error) {
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", c.CA)
	}
	return pool, nil
}

// ringOf is the keyring of the options.
func ringOf(opts Options) (keyring, error) {
	if opts.Certificates.given() {
		return opts.Certificates, opts.Certificates.Check()
	}
	if opts.Secret == "" {
		return nil, errors.New("links need a secret, or certificates: without, whoever reaches the port could join")
	}
	return derive(opts.Secret, opts.Name)
}

// linkTLS is for both ends of the links between nodes. Each end shows a
// certificate and believes those of its authorities that name a node.
func linkTLS(ring keyring) (*tls.Config, error) {
	c, err := clientTLS(ring, NodeName)
	if err != nil {
		return nil, err
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, c.RootCAs
	// The one that is dialled looks for the name as well.
	c.VerifyConnection = func(s tls.ConnectionState) error { return s.PeerCertificates[0].VerifyHostname(NodeName) }
	return c, nil
}

// clientTLS is for a connection to a server of this name; "" is the name in its
// address.
func clientTLS(ring keyring, name string) (*tls.Config, error) {
	pool, err := ring.authorities()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		ServerName:             name,
		RootCAs:                pool,
		SessionTicketsDisabled: true,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return ring.own() },
		GetClientCertificate:   func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return ring.own() },
	}, nil
}

// Issue makes what a NATS server needs to be trusted by the nodes of a secret, and
// to trust them: the authority, and a certificate with its key for these names,
// all in PEM.
func Issue(secret string, names ...string) (ca, cert, key []byte, err error) {
	root, rootKey, err := authority(secret)
	if err != nil {
		return nil, nil, nil, err
	}
	leaf, err := issue(root, rootKey, "skein bus", names...)
	if err != nil {
		return nil, nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	return block("CERTIFICATE", root.Raw), block("CERTIFICATE", leaf.Certificate[0]), block("PRIVATE KEY", der), err
}
