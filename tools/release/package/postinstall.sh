#!/bin/sh
# Debian calls it with "configure" and the version before, Red Hat with how many versions are
# installed now.
set -e

if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers skein.conf
elif ! getent passwd skein >/dev/null 2>&1; then
	useradd --system --user-group --home-dir /var/lib/skein --no-create-home --shell /usr/sbin/nologin --comment "Skein chat server" skein
fi

first=no
case "$1" in
configure) [ -n "$2" ] || first=yes ;;
1) first=yes ;;
esac

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# The single node goes on with the new program. Nodes of a cluster are exchanged one after
	# another, by you (operations.md).
	[ $first = yes ] || systemctl try-restart skein.service
fi

# It is not started by itself: settings come first.
if [ $first = yes ]; then
	cat <<END
Skein is installed, and not started. Its settings are in /etc/skein/skein.env; none is needed.
  systemctl enable --now skein     starts it, now and with the machine
  journalctl -u skein              shows the link that makes the first administrator
END
fi
