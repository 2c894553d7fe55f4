package config

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// The roles of a node.
const (
	RoleGateway = "gateway"
	RoleLogic   = "logic"
	RoleAPI     = "api"
)

// Is tells whether this process has a role.
func (c *Config) Is(role string) bool {
	return slices.Contains(c.Roles, "all") || slices.Contains(c.Roles, role)
}

// Clustered tells whether there may be other nodes.
func (c *Config) Clustered() bool { return c.Node.Listen != "" || len(c.Cluster) > 0 }

// ExternalBus is the URL of a NATS server, or "" when the nodes have their own.
func (c *Config) ExternalBus() string {
	if len(c.Cluster) > 0 && strings.Contains(c.Cluster[0], "://") {
		return strings.Join(c.Cluster, ",")
	}
	return ""
}

// minSecret is the least that nobody guesses: 128 bits as hexadecimal digits.
const minSecret = 32

// checkNodes refuses a cluster that cannot work or that strangers could join.
func (c *Config) checkNodes(bad func(key, format string, args ...any)) {
	if len(c.Roles) == 0 {
		bad("roles", "must name a role: gateway, logic, api or all")
	}
	for _, r := range c.Roles {
		if r != "all" && r != RoleGateway && r != RoleLogic && r != RoleAPI {
			bad("roles", "%q is none of gateway, logic, api, all", r)
		}
	}
	if c.Store != "" {
		if u, err := url.Parse(c.Store); err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
			bad("store", "must be empty or a URL like postgres://user:password@host/database")
		}
	}
	whole := c.Is(RoleGateway) && c.Is(RoleLogic) && c.Is(RoleAPI)
	switch {
	case !c.Clustered() && !whole:
		bad("roles", "a node with a part of the roles needs others: set node.listen and cluster")
	case c.Clustered() && c.Is(RoleLogic) && c.Store == "":
		bad("store", "nodes share a database: set store to a postgres:// URL")
	case c.Clustered() && len(c.Node.Secret) < minSecret:
		bad("node.secret", "nodes need a shared secret of at least %d characters (openssl rand -hex 32)", minSecret)
	}
	if c.Node.Listen != "" {
		checkListen(bad, "node.listen", c.Node.Listen)
	}
	external := c.ExternalBus() != ""
	switch n := c.Node; {
	case (n.TLSCert == "") != (n.TLSKey == ""):
		bad("node.tls_cert", "a certificate needs its key, and a key its certificate")
	case n.TLSCA == "" && n.TLSCert != "":
		bad("node.tls_ca", "name the authorities that the other nodes' certificates come from")
	case n.TLSCA != "" && n.TLSCert == "" && !external:
		bad("node.tls_cert", "a node shows a certificate of its own")
	}
	for _, peer := range c.Cluster {
		if strings.Contains(peer, "://") != external {
			bad("cluster", "either addresses of nodes or URLs of NATS servers, not both")
			break
		}
		if external {
			if u, err := url.Parse(peer); err != nil || (u.Scheme != "nats" && u.Scheme != "tls") || u.Host == "" {
				bad("cluster", "%q is not a URL like nats://user:password@host:4222", withoutPassword(peer))
			}
		} else if _, _, err := net.SplitHostPort(peer); err != nil {
			bad("cluster", "%q: %v", peer, err)
		}
	}
	if !external && len(c.Cluster) > 0 && c.Node.Listen == "" {
		bad("node.listen", "the other nodes must reach this one: set an address")
	}
}
