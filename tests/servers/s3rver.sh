#!/bin/sh
# The npm server s3rver: an S3 that silently ignores If-None-Match, takes any secret, and
# so has to be found out and refused as the home of a journal.
#   sh s3rver.sh start DIR [BUCKET…]; . DIR/env; …; sh s3rver.sh stop DIR
# env: S3RVER_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION
# Debian: npm; the package itself comes from npm's registry, else the start is skipped.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"

VERSION=3.7.1

# What npm has kept of an earlier time is asked first.
install() {
	[ -f "$dir/node_modules/s3rver/package.json" ] && return
	for _ in 1 2 3; do
		npm install --prefix "$dir" --no-audit --no-fund --ignore-scripts \
			--prefer-offline "s3rver@$VERSION" >"$dir/npm.log" 2>&1 && return
	done
	say "npm cannot install s3rver: $(grep -m 1 -i err "$dir/npm.log")"
	exit 77
}

start() {
	need node nodejs
	need npm npm
	need curl curl
	mkdir -p "$dir/objects" || exit 1
	install
	port=$(free_ports 1)
	for bucket in "${@:-bucket}"; do
		set -- "$@" --configure-bucket "$bucket"
		[ $# -le 2 ] || shift
	done
	begin "$dir" s3rver node "$dir/node_modules/s3rver/bin/s3rver.js" -d "$dir/objects" \
		-a 127.0.0.1 -p "$port" -s "$@"
	started "$dir" "http://127.0.0.1:$port/"
	cat >"$dir/env" <<-X
		S3RVER_URL=http://127.0.0.1:$port
		AWS_ACCESS_KEY_ID=S3RVER
		AWS_SECRET_ACCESS_KEY=S3RVER
		AWS_REGION=us-east-1
	X
}

stop() {
	end_all "$dir"
	rm -rf "$dir/objects" "$dir/env"
}

[ $# -ge 2 ] || usage "[BUCKET…]"
what=$1
dir=$(realpath -m "$2")
shift 2
case $what in
start | stop) "$what" "$@" ;;
*) usage "[BUCKET…]" ;;
esac
