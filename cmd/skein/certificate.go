package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/skein-im/skein/internal/bus/nats"
)

type certificateCmd struct {
	settings `embed:""`
	Dir      string `arg:"" help:"Directory for ca.pem, cert.pem and key.pem."`
}

// Run makes the certificate of a NATS server that the nodes are to trust.
func (c *certificateCmd) Run() error {
	cfg, err := c.read()
	if err != nil {
		return err
	}
	if cfg.Node.Secret == "" {
		return fmt.Errorf("node.secret: the certificate is made of what the nodes share; set SKEIN_NODE_SECRET_FILE")
	}
	ca, cert, key, err := nats.Issue(cfg.Node.Secret, nats.NodeName)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"ca.pem": ca, "cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
