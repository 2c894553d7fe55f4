// Package deploy has the programs that read our files of operation read them: Helm's own code
// the chart, Prometheus's the alerts and the scrape configuration, actionlint the workflows. It
// is a module of its own, since none of that belongs to the server. What the files say about the
// server is checked in ../../deploy.
package deploy
