#!/bin/sh
# The stand-in of the clouds (tests/fakecloud), in the same way as the real servers.
#   sh fakecloud.sh start DIR [OPTION…]; . DIR/env; …; sh fakecloud.sh stop DIR
# env: FAKE_S3, FAKE_OSS, FAKE_GCS, FAKE_STS, FAKE_CONTROL and so on, one URL for each
# service (with --cert and --key also FAKES_S3 and so on, https); AWS_ACCESS_KEY_ID,
# AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL_AUTO_SCALING; OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET;
# FAKE_GOOGLE_TOKEN. OPTION: see tests/fakecloud/README.md.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"

write_env() {
	"$PYTHON" - "$dir/ready.json" <<-'X'
		import json, sys
		ready = json.load(open(sys.argv[1]))
		for word, scheme in (("FAKE", "http"), ("FAKES", "https")):
		    for name, url in ready[scheme].items():
		        print("%s_%s=%s" % (word, name.upper(), url))
		config = ready["config"]
		for names, cloud in ((("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "aws"),
		                     (("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET"), "alibaba")):
		    key = config[cloud]["keys"][0]
		    print("%s='%s'\n%s='%s'" % (names[0], key["id"], names[1], key["secret"]))
		print("AWS_REGION=us-east-1")
		# What lists of machines ask beside EC2.
		print("AWS_ENDPOINT_URL_AUTO_SCALING=" + ready["http"]["auto_scaling"])
		token = config["google"]["tokens"][0]
		print("FAKE_GOOGLE_TOKEN='%s'" % (token if isinstance(token, str) else token["id"]))
	X
}

start() {
	[ -n "$PYTHON" ] || need python3 python3
	mkdir -p "$dir" && rm -f "$dir/ready.json"
	PYTHONPATH=$(cd "$(dirname "$0")/.." && pwd)
	export PYTHONPATH
	data=$(make_data "$dir") || die "no place for data"
	begin "$dir" fakecloud "$PYTHON" -B -m fakecloud --dir "$data" \
		--ready "$dir/ready.json" "$@"
	end=$(($(date +%s) + LIMIT))
	until [ -f "$dir/ready.json" ]; do
		if ! alive "$dir" fakecloud || [ "$(date +%s)" -ge $end ]; then
			cat "$dir/log/fakecloud.log" >&2
			stop
			die "does not start"
		fi
		sleep 0.1
	done
	write_env >"$dir/env"
}

stop() {
	end_all "$dir"
	remove_data "$dir"
	rm -f "$dir/env" "$dir/ready.json"
}

[ $# -ge 2 ] || usage "[OPTION…]"
what=$1
dir=$(realpath -m "$2")
shift 2
case $what in
start | stop) "$what" "$@" ;;
*) usage "[OPTION…]" ;;
esac
