#!/bin/sh
# What was said is never removed with the program: that is for you to do.
set -e

[ ! -d /run/systemd/system ] || systemctl daemon-reload
case "$1" in
purge | 0) [ ! -d /var/lib/skein ] || echo "The messages and files in /var/lib/skein are kept. To delete them for ever: rm -r /var/lib/skein" ;;
esac
