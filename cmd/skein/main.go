// Command skein is the server, its tools and a terminal client in one binary.
//
// Exit codes: 0 done; 1 it failed, the reason is on stderr (for doctor:
// something is bad); 2 the command line is wrong.
package main

import "github.com/skein-im/skein/cmd/internal/command"

// version is set by the build (-ldflags -X main.version=…).
var version = "dev"

type cli struct {
	Serve    serveCmd        `cmd:"" help:"Run the server. Needs no flag: data in ./data, public port 127.0.0.1:8080."`
	Chat     chatCmd         `cmd:"" help:"Chat in the terminal."`
	User     userCmd         `cmd:"" help:"Manage users of a running server."`
	Group    groupCmd        `cmd:"" help:"Look after the groups of a running server."`
	Report   reportCmd       `cmd:"" help:"Look after what members reported."`
	Server   serverCmd       `cmd:"" help:"Show and change what the server tells everybody of itself; show how it is."`
	Announce announceCmd     `cmd:"" help:"Tell everybody something; list and withdraw what is announced."`
	Filter   filterCmd       `cmd:"" help:"Look after the words and links that are not allowed."`
	Audit    auditCmd        `cmd:"" help:"Export the audit log: what administrators did, and who signed in or tried to."`
	Token    tokenCmd        `cmd:"" help:"Make tokens for users of your own backend."`
	Config   configCmd       `cmd:"" help:"Show, check and explain the settings."`
	Schema   schemaCmd       `cmd:"" name:"migrate" help:"Show the versions of the tables that nodes share, or end an upgrade."`
	Migrate  migrateCmd      `cmd:"" name:"migrate-store" help:"Copy the embedded store of a stopped server to PostgreSQL."`
	Import   importCmd       `cmd:"" help:"Bring users, channels, messages and files of Slack, Mattermost or Rocket.Chat into the store of a stopped server."`
	Account  accountCmd      `cmd:"" help:"Secure an account with an authenticator app; set a password by an administrator's link."`
	Verify   verifyExportCmd `cmd:"" name:"export-verify" help:"Tell whether the zip of an export is whole."`
	Backup   backupCmd       `cmd:"" help:"Back up the embedded store, list, try out and remove backups."`
	Restore  restoreCmd      `cmd:"" help:"Make a data directory from a backup."`
	Doctor   doctorCmd       `cmd:"" help:"Look for what is wrong with the store, the machine or the cluster."`
	Health   healthCmd       `cmd:"" help:"Ask a running server whether it is well, for health checks."`
	Top      topCmd          `cmd:"" help:"Show the figures of a running server: connections, messages, acks, memory, journal, queues."`
	Trace    traceCmd        `cmd:"" help:"Tell who has a message, and why not."`
	Cert     certificateCmd  `cmd:"" name:"bus-certificate" help:"Make the certificate of a NATS server of your own, which the nodes trust."`
	Bench    benchCmd        `cmd:"" hidden:"" passthrough:"" help:"It is a program of its own: skein-lab bench."`
	Capacity capacityCmd     `cmd:"" help:"Estimate how many users a machine carries."`
	Version  versionCmd      `cmd:"" help:"Print the version."`
}

func main() {
	command.Main("skein", "A self-hosted chat server: one binary, no database to install.", &cli{})
}
