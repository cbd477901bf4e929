#!/bin/sh
# A folder as the store of a group: its mode decides what members and others may do,
# whatever anybody's umask is; secrets stay with their user, and who is kept out is
# told why and what to do.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

GROUP=12350
modes_of() { # FOLDER TYPE: of all but secrets, each once
	find "$1" -name secrets -prune -o -type "$2" -printf '%m\n' | sort -u | tr '\n' ' '
}
share() { # FOLDER MODE, as gpucloud-store(7) says
	mkdir "$1"
	[ "$(id -u)" -ne 0 ] || chgrp $GROUP "$1"
	chmod "$2" "$1"
}

# --- one user ---------------------------------------------------------------
run gpc submit -q -- echo ran
is "$rc $(stat -c %a "$STORE")" "0 700" "a store that gpucloud makes is its user's alone"
share "$T/one" 2770
(umask 077 && GPUCLOUD_STORE=$T/one gpc submit -q --secret A=b -- echo ran) >out 2>&1
is "$? $(cat out)" "0 ran" "a job in a group's store" || note "$(cat out)"
is "$(modes_of "$T/one" d)" "2770 " "folders get its mode, whatever the umask"
is "$(modes_of "$T/one" f)" "640 " "and files what belongs to it"
share "$T/open" 2775
(umask 077 && GPUCLOUD_STORE=$T/open gpc submit -q -- echo ran) >out 2>&1
is "$(modes_of "$T/open" d)$(modes_of "$T/open" f)" "2775 644 " "others may read where they may read the root"

# --- two users of a group, and one who is not -------------------------------
# as USER COMMAND…: a and b are of the group, c is not.
as() {
	who=$1
	shift
	case $who in
	a) set -- 12345 "--groups=$GROUP" "$@" ;;
	b) set -- 12346 "--groups=$GROUP" "$@" ;;
	c) set -- 12347 --clear-groups "$@" ;;
	esac
	id=$1 groups=$2
	shift 2
	(
		umask 077
		cd "$T/$who" || exit 1
		export HOME="$T/$who" XDG_CONFIG_HOME="$T/$who/config" \
			XDG_DATA_HOME="$T/$who/data" XDG_CACHE_HOME="$T/$who/cache" \
			XDG_STATE_HOME="$T/$who/state" TMPDIR="$T/$who" \
			ASAN_OPTIONS="log_path=$T/$who/sanitizer" \
			UBSAN_OPTIONS="log_path=$T/$who/sanitizer:halt_on_error=1"
		exec timeout $((60 * SLOW)) setpriv "--reuid=$id" "--regid=$id" \
			"$groups" "$@"
	)
}
by() { # USER ARGUMENT…: leaves $out, $err, $rc
	user=$1
	shift
	as "$user" "$T/gpucloud" "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	out=$(cat "$T/out")
	err=$(cat "$T/err")
}
by_in_state() { # USER JOB STATE
	[ "$(as "$1" "$T/gpucloud" status "$2" -o json | jq -r .state)" = "$3" ]
}

two_users() {
	share "$T/lab" 2770
	export GPUCLOUD_STORE="$T/lab"
	by a submit -q -d --name keeps --secret WORD=of-a -- \
		sh -c 'echo "$WORD"; exec sleep 300'
	keeps=$out
	is "$rc" 0 "the first user's job has a secret" || note "$err"
	by b submit -q --name other --secret WORD=of-b -- sh -c 'echo "$WORD"'
	is "$rc $out" "0 of-b" "so has the second one's, at the same time" || note "$err"
	is "$(stat -c '%a %u %g' "$T/lab/secrets")" "3770 12345 $GROUP" "in a sticky folder"
	is "$(stat -c '%a %u' "$T/lab/secrets/$keeps")" "600 12345" "each in a file of its user's"
	as b cat "$T/lab/secrets/$keeps" >out 2>&1
	is "$? $(grep -c of-a out)" "1 0" "which no other can read"
	as b rm -f "$T/lab/secrets/$keeps" 2>/dev/null
	[ -e "$T/lab/secrets/$keeps" ]
	ok $? "nor delete"
	wait_until 60 by_in_state b "$keeps" RUNNING
	ok $? "a member reads the other's status"
	logged() { as b "$T/gpucloud" logs "$keeps" | grep -qx of-a; }
	wait_until 60 logged
	ok $? "and log"
	by b cancel "$keeps"
	is "$rc" 0 "and may cancel the job" || note "$err"
	wait_until 60 by_in_state b "$keeps" CANCELLED
	ok $? "which its owner's supervisor does"
	no_secrets() { [ ! -e "$T/lab/secrets" ]; }
	wait_until 60 no_secrets
	ok $? "and drops the secret"
	# Such as a submit that was killed leaves.
	as a sh -c "mkdir -p '$T/lab/secrets' && chmod 3770 '$T/lab/secrets' &&
		echo '{}' >'$T/lab/secrets/$keeps'"
	by b prune -y --older-than 0s --all-users --jobs
	is "$rc:$(ls "$T/lab/jobs" 2>/dev/null):$(ls "$T/lab/secrets")" "0::$keeps" \
		"a member prunes everybody's jobs, but for another's secret" || note "$err"

	by c status
	is "$rc" 4 "who is not of the group is kept out"
	like "$err" 'gpucloud-store\(7\), "Sharing a folder"' "and is told how that is"
	share "$T/read" 2775
	export GPUCLOUD_STORE="$T/read"
	by a submit -q --name read -- echo ran
	by c logs read
	is "$rc $out" "0 ran" "where others may read, they do" || note "$err"
	by c submit -q -- true
	is "$rc" 4 "but not write"
	like "$err" "only members of the folder's group may write there" "which says why"

	# A folder that was only made writable.
	mkdir "$T/mine"
	chown 12345:$GROUP "$T/mine"
	chmod 755 "$T/mine"
	export GPUCLOUD_STORE="$T/mine"
	by a submit -q --secret A=b -- true
	is "$rc" 0 "a user's own folder"
	chmod -R go+rwX "$T/mine"
	as a sh -c "mkdir '$T/mine/secrets' && : >'$T/mine/secrets/x'"
	by b submit -q --secret A=b -- true
	is "$rc" 4 "takes no other's secrets"
	like "$err" "cannot create .*/secrets/.*Permission denied" "and says where"
	like "$err" 'another user.s: .*"Sharing a folder"' "and what to do"
	unset GPUCLOUD_STORE
	cat "$T"/[abc]/sanitizer.* >"$T/sanitizer.users" 2>/dev/null
}

# Under memcheck the program is a script in a folder that others cannot read.
if [ "$(id -u)" -eq 0 ] && [ -z "${GPUCLOUD_TEST_VALGRIND:-}" ]; then
	cp "$GPUCLOUD_BIN" "$T/gpucloud"
	mkdir "$T/a" "$T/b" "$T/c"
	chown 12345:12345 "$T/a"
	chown 12346:12346 "$T/b"
	chown 12347:12347 "$T/c"
	two_users
fi
finish
