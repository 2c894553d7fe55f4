#!/usr/bin/env bash
# A cluster on this machine, to try things with: one PostgreSQL server and
# several nodes on loopback ports. No container engine, nothing installed.
# It runs until Ctrl-C or SIGTERM, which stop the nodes first, then the database.
#
# `deploy/cluster.sh --help` lists what may be set.
set -euo pipefail

usage() {
	cat <<'END'
usage: deploy/cluster.sh [--split] [--fresh]
  --split  two gateways, two logic nodes and one API node instead of identical ones
  --fresh  forget what an earlier run kept
environment:
  NODES=3             how many identical nodes
  DIR=data/cluster    where everything is kept
  SKEIN=bin/skein     the program
  HTTP_PORT=8181      first public port      ADMIN_PORT=8281  first private port
  NODE_PORT=7946      first port for nodes   PG_PORT=5442     PostgreSQL's port
  PG_BIN=…            directory of PostgreSQL's programs
END
}

die() {
	echo "cluster: $*" >&2
	exit 1
}

split=false fresh=false
for arg; do
	case $arg in
	--split) split=true ;;
	--fresh) fresh=true ;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
done

NODES=${NODES:-3} DIR=${DIR:-data/cluster} SKEIN=${SKEIN:-bin/skein}
HTTP_PORT=${HTTP_PORT:-8181} ADMIN_PORT=${ADMIN_PORT:-8281} NODE_PORT=${NODE_PORT:-7946} PG_PORT=${PG_PORT:-5442}
[[ $NODES =~ ^[1-9][0-9]?$ ]] || die "NODES=$NODES is not a number from 1 to 99"

roles=()
if $split; then
	roles=(logic logic gateway gateway api)
else
	for ((i = 0; i < NODES; i++)); do roles+=(all); done
fi

# ---- what must be there -----------------------------------------------------

[[ -x $SKEIN ]] || die "$SKEIN is missing: run make build"
SKEIN=$(realpath "$SKEIN")

find_postgres() {
	local found
	if [[ -n ${PG_BIN:-} ]]; then
		[[ -x $PG_BIN/postgres && -x $PG_BIN/initdb ]] || die "PG_BIN=$PG_BIN has no postgres and initdb"
		return
	fi
	found=$(find /usr/lib/postgresql -mindepth 3 -maxdepth 3 -path '*/bin/initdb' 2>/dev/null | sort -V | tail -1)
	[[ -n $found ]] || found=$(command -v initdb || true)
	[[ -n $found ]] || die "PostgreSQL's server is missing: run make deps, or set PG_BIN"
	PG_BIN=$(dirname "$found")
}
find_postgres

in_use() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

check_ports() {
	local i port taken=()
	in_use "$PG_PORT" && taken+=("PG_PORT=$PG_PORT")
	for i in "${!roles[@]}"; do
		for port in HTTP_PORT ADMIN_PORT NODE_PORT; do
			in_use $((${!port} + i)) && taken+=("$port+$i=$((${!port} + i))")
		done
	done
	((${#taken[@]} == 0)) && return
	[[ -s $DIR/pids ]] && echo "cluster: an earlier run may be alive; its processes: $(tr '\n' ' ' <"$DIR/pids")" >&2
	die "these ports are in use: ${taken[*]}"
}
check_ports

# ---- directories and secrets ------------------------------------------------

# PostgreSQL refuses to run as root: it runs as postgres then, which must be able
# to reach its files, also where the checkout is below /root.
as_postgres=()
if ((EUID == 0)); then
	id postgres >/dev/null 2>&1 || die "PostgreSQL does not run as root, and there is no user postgres"
	as_postgres=(setpriv --reuid=postgres --regid="$(id -g postgres)" --clear-groups)
fi

if $fresh; then
	[[ -s $DIR/pg.path ]] && rm -rf "$(<"$DIR/pg.path")"
	rm -rf "$DIR"
fi
mkdir -p "$DIR"
DIR=$(realpath "$DIR")

PG=$DIR/postgres
if [[ -s $DIR/pg.path ]]; then
	PG=$(<"$DIR/pg.path")
fi
if [[ ! -d $PG ]]; then
	mkdir "$PG" && chmod 700 "$PG"
	if ((EUID == 0)); then
		chown postgres: "$PG"
		if ! "${as_postgres[@]}" test -w "$PG" 2>/dev/null; then
			rmdir "$PG"
			PG=$(mktemp -d /var/tmp/skein-cluster.XXXXXX)
			chown postgres: "$PG"
			echo "The user postgres cannot reach $DIR: the database is in $PG."
		fi
	fi
	echo "$PG" >"$DIR/pg.path"
fi

random() { head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

if [[ ! -s $DIR/secret ]]; then
	(umask 077 && random >"$DIR/secret")
fi
if [[ ! -s $DIR/password ]]; then
	(umask 077 && random >"$DIR/password")
fi
(umask 077 && echo "postgres://skein:$(<"$DIR/password")@127.0.0.1:$PG_PORT/postgres?sslmode=disable" >"$DIR/store")

# ---- the end ----------------------------------------------------------------

pids=() names=() postgres_pid=

alive() { kill -0 "$1" 2>/dev/null; }

stop() {
	trap '' INT TERM
	local pid
	echo
	echo "Stopping."
	for pid in "${pids[@]}"; do alive "$pid" && kill -TERM "$pid"; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	if [[ -n $postgres_pid ]] && alive "$postgres_pid"; then
		kill -INT "$postgres_pid" # ends sessions, then itself, with a checkpoint
		wait "$postgres_pid" || true
	fi
	rm -f "$DIR/pids"
}
finish() {
	local code=$?
	stop
	exit "$code"
}
trap finish EXIT
trap 'exit 0' INT TERM

# ---- PostgreSQL -------------------------------------------------------------

start_postgres() {
	if [[ ! -s $PG/data/PG_VERSION ]]; then
		echo "Making the database."
		(umask 077 && cp "$DIR/password" "$PG/password")
		((EUID != 0)) || chown postgres: "$PG/password"
		(cd "$PG" && "${as_postgres[@]}" "$PG_BIN/initdb" -D "$PG/data" -U skein --pwfile="$PG/password" \
			--auth=scram-sha-256 --encoding=UTF8 --locale=C --data-checksums >"$PG/initdb.log" 2>&1) || {
			cat "$PG/initdb.log" >&2
			die "initdb failed"
		}
		rm -f "$PG/password"
	fi
	# Statements are counted where that is installed: skein-lab tells them per message.
	local counted=()
	[[ ! -e $PG_BIN/../lib/pg_stat_statements.so ]] || counted=(-c shared_preload_libraries=pg_stat_statements)
	# The durability of production: fsync, full_page_writes and synchronous_commit are
	# on. setsid keeps a Ctrl-C in the terminal from reaching more than this script.
	(cd "$PG" && exec setsid "${as_postgres[@]}" "$PG_BIN/postgres" -D "$PG/data" -p "$PG_PORT" -c listen_addresses=127.0.0.1 \
		-c unix_socket_directories= -c max_connections=$((${#roles[@]} * 32 + 20)) \
		-c shared_buffers=128MB -c max_wal_size=2GB -c wal_compression=on "${counted[@]}") </dev/null >>"$DIR/postgres.log" 2>&1 &
	postgres_pid=$!
	echo "$postgres_pid" >"$DIR/pids"
	local n
	for ((n = 0; n < 300; n++)); do
		alive "$postgres_pid" || break
		"$PG_BIN/pg_isready" -q -h 127.0.0.1 -p "$PG_PORT" && return
		sleep 0.1
	done
	tail -20 "$DIR/postgres.log" >&2
	die "PostgreSQL does not answer; its log is $DIR/postgres.log"
}

# ---- nodes ------------------------------------------------------------------

# Each node gets a script that starts it, so that one that was killed can be
# started again by hand.
write_start() {
	local i=$1 name=$2 role=$3 start
	mkdir -p "$DIR/$name"
	start=$DIR/$name/start
	{
		echo '#!/bin/sh'
		printf 'export SKEIN_NODE_SECRET_FILE=%q SKEIN_NODE_NAME=%q SKEIN_NODE_LISTEN=127.0.0.1:%d\n' "$DIR/secret" "$name" $((NODE_PORT + i))
		[[ $role != all && $role != logic ]] || printf 'export SKEIN_STORE_FILE=%q\n' "$DIR/store"
		# One address is enough: the nodes tell each other of the rest. The first two
		# name each other, so that either may be started again alone.
		printf 'export SKEIN_CLUSTER=127.0.0.1:%d\n' $((i == 0 ? NODE_PORT + 1 : NODE_PORT))
		printf 'exec %q serve --roles %s --data %q --http 127.0.0.1:%d --admin 127.0.0.1:%d\n' \
			"$SKEIN" "$role" "$DIR/$name/data" $((HTTP_PORT + i)) $((ADMIN_PORT + i))
	} >"$start"
	chmod +x "$start"
}

is_ready() {
	local answer
	answer=$( (exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3 && head -1 <&3) 2>/dev/null) || return 1
	[[ $answer == *' 200 '* ]]
}

start_node() {
	local i=$1 role=${roles[$1]} name
	name=n$((i + 1))
	write_start "$i" "$name" "$role"
	setsid "$DIR/$name/start" </dev/null >"$DIR/$name/log" 2>&1 &
	pids+=($!)
	names+=("$name")
	echo $! >>"$DIR/pids"
}

await_node() {
	local i=$1 n
	for ((n = 0; n < 300; n++)); do
		alive "${pids[i]}" || break # then whoever answers is not ours
		is_ready $((ADMIN_PORT + i)) && return
		sleep 0.1
	done
	tail -20 "$DIR/${names[i]}/log" >&2
	die "${names[i]} did not become ready; its log is $DIR/${names[i]}/log"
}

tell() {
	local i url key claim api=$HTTP_PORT
	echo
	for i in "${!roles[@]}"; do
		url=
		[[ ${roles[i]} != api ]] || api=$((HTTP_PORT + i))
		[[ ${roles[i]} == logic ]] || url="http://127.0.0.1:$((HTTP_PORT + i))"
		printf '  %-4s %-8s %-24s private http://127.0.0.1:%d  pid %d\n' "${names[i]}" "${roles[i]}" "$url" $((ADMIN_PORT + i)) "${pids[i]}"
	done
	key=$DIR/n1/data/keys/admin.key
	echo
	echo "  Admin key  $key"
	claim=$(cat "$DIR"/n*/log | grep -o '/claim?code=[^ ]*' | tail -1 || true)
	[[ -z $claim ]] || echo "  Become the administrator (once)  http://127.0.0.1:$api$claim"
	echo "  Logs       $DIR/n*/log, $DIR/postgres.log"
	echo "  Database   psql \"\$(cat $DIR/store)\""
	if ! $split; then
		echo
		echo "  $SKEIN chat alice --register --server http://127.0.0.1:$HTTP_PORT"
		((NODES < 2)) || echo "  $SKEIN chat bob --register --server http://127.0.0.1:$((HTTP_PORT + 1))"
	fi
	echo
	echo "Kill a node and see; $DIR/n2/start starts n2 again. Ctrl-C (or kill $$) stops everything."
}

# The first words of why a process ended.
ending() {
	if (($1 > 128)); then
		echo "was killed by signal $(($1 - 128))"
	else
		echo "ended with code $1"
	fi
}

# watch reports who ends; the rest goes on, as it would elsewhere. Without the
# database there is nothing to go on with.
watch() {
	local code ended i left=${#pids[@]}
	while ((left > 0)); do
		code=0
		wait -n -p ended "${pids[@]}" "$postgres_pid" 2>/dev/null || code=$?
		[[ -n ${ended:-} ]] || continue
		if [[ $ended == "$postgres_pid" ]]; then
			postgres_pid=
			die "PostgreSQL $(ending "$code"); its log is $DIR/postgres.log"
		fi
		for i in "${!pids[@]}"; do
			if [[ ${pids[i]} == "$ended" ]]; then
				echo "${names[i]} $(ending "$code"). Start it again: $DIR/${names[i]}/start"
				unset "pids[i]"
			fi
		done
		left=$((left - 1))
	done
	echo "All nodes have ended."
}

start_postgres
# One after the other, so that the link to become the administrator that is
# printed last is the one that holds. They could all start together.
for i in "${!roles[@]}"; do
	start_node "$i"
	await_node "$i"
done
tell
watch
