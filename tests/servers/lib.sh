# shellcheck shell=sh
# Sourced by the scripts that start real servers for tests:
#   sh SCRIPT start DIR [ARGUMENT…]; . DIR/env; …; sh SCRIPT stop DIR
# DIR is a scratch folder; DIR/env says, as shell variables, where the server is. All
# listen on loopback, on ports that were free, and are ended by their ids. A start
# that lacks something ends with 77 and says what, which a test passes on as a skip.
set -u

PYTHON=$(command -v /usr/bin/python3 || command -v python3)
NAME=$(basename "$0" .sh)
LIMIT=180 # seconds for a start, on a machine that does much else

say() { echo "$NAME: $*" >&2; }

die() {
	say "$@"
	exit 1
}

# need COMMAND PACKAGE: the command exists, or the script ends as skipped.
need() {
	PATH=$PATH:/usr/sbin:/sbin
	command -v "$1" >/dev/null 2>&1 && return
	say "no $1 here (Debian's package $2)"
	exit 77
}

# free_ports N: that many at once, so that they differ.
free_ports() {
	"$PYTHON" -c '
import socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*[s.getsockname()[1] for s in held])' "$1"
}

# born PID: when the process began, in ticks; nothing if there is none.
born() {
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20
}

# begin DIR NAME COMMAND…: a server in the background, known by id and birth.
begin() {
	b_dir=$1
	b_name=$2
	shift 2
	mkdir -p "$b_dir/run" "$b_dir/log"
	setsid "$@" >"$b_dir/log/$b_name.log" 2>&1 </dev/null &
	echo "$! $(born $!)" >"$b_dir/run/$b_name"
}

alive() { # DIR NAME
	a_pid=
	read -r a_pid a_born <"$1/run/$2" || [ -n "$a_pid" ] || return 1
	[ -n "$a_born" ] && [ "$(born "$a_pid")" = "$a_born" ] &&
		! grep -q '^State:.*Z' "/proc/$a_pid/status" 2>/dev/null
}

# signal_group DIR NAME SIGNAL: to the server and what it started.
signal_group() {
	alive "$1" "$2" && kill "-$3" "-$a_pid" 2>/dev/null
}

# end_all DIR: asks, waits, insists.
end_all() {
	for e_file in "$1"/run/*; do
		[ ! -e "$e_file" ] || signal_group "$1" "$(basename "$e_file")" TERM
	done
	e_tries=100
	for e_file in "$1"/run/*; do
		[ -e "$e_file" ] || continue
		while [ $e_tries -gt 0 ] && alive "$1" "$(basename "$e_file")"; do
			e_tries=$((e_tries - 1))
			sleep 0.1
		done
		signal_group "$1" "$(basename "$e_file")" KILL
		rm -f "$e_file"
	done
}

# answers DIR URL [CURL-OPTION…]: waits until the URL does, while servers live.
answers() {
	w_dir=$1
	w_url=$2
	shift 2
	w_end=$(($(date +%s) + LIMIT))
	until curl -s -o "$w_dir/answer" --noproxy '*' --max-time 10 "$@" "$w_url"; do
		for w_file in "$w_dir"/run/*; do
			alive "$w_dir" "$(basename "$w_file")" || return 1
		done
		[ "$(date +%s)" -lt $w_end ] || return 1
		sleep 0.1
	done
	rm -f "$w_dir/answer"
}

# started DIR URL: as answers; on failure shows the logs, ends all, and the script.
started() {
	answers "$@" && return
	tail -n 5 "$1"/log/*.log >&2
	end_all "$1"
	die "does not start"
}

# make_data DIR: prints a folder for a server's bulk, in memory where there is such a
# place (which has what Swift needs, extended attributes); remove_data removes it.
make_data() {
	for m_place in /dev/shm "$1"; do
		mktemp -d "$m_place/gpucloud-$NAME.XXXXXX" 2>/dev/null >"$1/data" || continue
		cat "$1/data"
		return
	done
	return 1
}

remove_data() {
	[ ! -s "$1/data" ] || rm -rf "$(cat "$1/data")"
	rm -f "$1/data"
}

usage() {
	die "usage: sh $0 start DIR $* | stop DIR"
}
