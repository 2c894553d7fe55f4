#!/bin/sh
# What a machine needs, and how to get what is missing.
#
#   tools/needs.sh run     to build and run the server: says what is missing, and ends with 1
#   tools/needs.sh test    for all tests: the same, and on Debian and Ubuntu offers to install it
#
# It asks before it installs anything. YES=1 says yes, and so does root without a terminal,
# where nobody can be asked, as in CI; YES=0 says no. What is there already needs no root.
set -u

here() { command -v "$1" >/dev/null 2>&1; }

debian() { [ -e "${NEEDS_DEBIAN:-/etc/debian_version}" ]; }

# get says how to get a thing on this system: a Debian package, a Homebrew formula, an address.
get() {
	case "$(uname -s)" in
	Darwin) echo "    brew install $2" ;;
	*) if debian && [ -n "$1" ]; then echo "    apt-get install $1"; else echo "    see $3"; fi ;;
	esac
}

missing=0
lacks() { # what, why, package, formula, address
	missing=1
	echo "$1 is missing: $2" >&2
	get "$3" "$4" "$5" >&2
}

# Go 1.21 and later fetch the version that go.mod asks for by themselves.
check_go() {
	if ! here "${GO:-go}"; then
		lacks Go "it builds the server" "" go https://go.dev/dl/
		return
	fi
	minor=$("${GO:-go}" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
	if [ -n "$minor" ] && [ "$minor" -lt 21 ]; then
		lacks "A newer Go" "this one is 1.$minor; from 1.21 on it fetches the version that is needed by itself" "" go https://go.dev/dl/
	fi
}

check_certificates() {
	[ "$(uname -s)" = Linux ] || return 0
	for f in ${NEEDS_CERTS:-/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem /etc/ssl/ca-bundle.pem}; do
		[ -s "$f" ] && return 0
	done
	lacks ca-certificates "without them nothing can be fetched from Go's module proxy" ca-certificates ca-certificates "your system's packages"
}

check_run() {
	check_go
	check_certificates
	here git || lacks git "it tells the version that is built" git git https://git-scm.com
	here npm || echo "Node is not here: the server is built without its web app (Node 20.19 or later makes it)" >&2
}

# python finds a Python that can import modules: the one of PATH, or the system's, which has
# what the system's packages bring.
python() { python3 -c "import $1" 2>/dev/null || /usr/bin/python3 -c "import $1" 2>/dev/null; }

# firefox_package is that of Firefox: Debian has the one of extended support alone, Ubuntu does not have that one.
firefox_package() { [ "$(sed -n 's/^ID=//p' /etc/os-release 2>/dev/null)" = ubuntu ] && echo firefox || echo firefox-esr; }

check_test() {
	packages=""
	want() { # command or test, package, why
		packages="$packages $2"
		echo "$1 is missing: $3" >&2
	}
	here gcc || want gcc "gcc libc6-dev" "the race detector needs a C compiler"
	here postgres || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || want PostgreSQL postgresql "the tests of many nodes start servers of their own"
	python websockets || want "Python's websockets" "python3 python3-websockets" "examples/python is a client"
	here chromium || here chromium-browser || here google-chrome || here chromium-headless-shell || want Chromium chromium "the web app is driven in it"
	here firefox-esr || here firefox || want Firefox "$(firefox_package)" "the SDK in TypeScript is tested in it as well"
	here openssl || want openssl openssl "the push service of test/web has a certificate of its own"
	here npm || want Node "nodejs npm" "the SDK in TypeScript and the web app are tested with it"
	python "ensurepip, venv" || want "Python's venv" python3-venv "test/clients makes a virtual environment"
	[ -n "$packages" ] || return 0
	if ! debian; then
		echo "Install these with your system's packages, then run it again." >&2
		exit 1
	fi
	install="apt-get install -y --no-install-recommends$packages"
	yes=${YES:-}
	if [ -z "$yes" ] && [ ! -t 0 ]; then
		[ "$(id -u)" = 0 ] && yes=1 || yes=0
	fi
	if [ "$yes" = 0 ]; then
		echo "To install them:  $install   (or run it again with YES=1)" >&2
		exit 1
	fi
	if [ "$yes" != 1 ]; then
		printf 'Run "%s" now? [y/N] ' "$install" >&2
		read -r answer
		case "$answer" in y | Y | yes) ;; *) exit 1 ;; esac
	fi
	if [ "$(id -u)" != 0 ]; then
		echo "That needs root:  sudo $install" >&2
		exit 1
	fi
	# Its programs only: Debian's package is kept from starting a server on port 5432.
	echo "Now: $install" >&2
	conf=${NEEDS_PG_CONF:-/etc/postgresql-common/createcluster.conf}
	case "$packages" in *postgresql*) [ -e $conf ] || { mkdir -p "$(dirname $conf)" && echo 'create_main_cluster = false' >$conf; } ;; esac
	apt-get update -q && DEBIAN_FRONTEND=noninteractive $install -q -o Dpkg::Options::=--force-confold
}

case "${1:-}" in
run)
	check_run
	exit $missing
	;;
test)
	check_go
	check_certificates
	[ $missing = 0 ] || exit 1
	check_test
	;;
*)
	sed -n '2,7p' "$0"
	exit 2
	;;
esac
