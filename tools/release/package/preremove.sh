#!/bin/sh
# Debian calls it with "remove" or "upgrade", Red Hat with how many versions stay installed.
set -e

case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now skein.service skein.socket skein-redirect.socket
		systemctl stop 'skein@*.service'
	fi
	;;
esac
