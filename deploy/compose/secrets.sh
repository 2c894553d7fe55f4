#!/bin/sh
# Makes the secrets of compose.cluster.yaml, once. Compose mounts each file with
# the mode it has here, and the server is not root: so the files can be read by
# all, and the directory can be entered by you alone.
set -eu
cd "$(dirname "$0")"
[ ! -e secrets ] || { echo "deploy/compose/secrets is there already" >&2; exit 1; }
random() { head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
umask 077
mkdir secrets
password=$(random)
random >secrets/node_secret
printf %s "$password" >secrets/postgres_password
printf %s "postgres://skein:$password@postgres:5432/skein?sslmode=disable" >secrets/store_url
chmod 444 secrets/*
echo "*" >secrets/.gitignore
