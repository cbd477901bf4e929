#!/bin/sh
# OpenStack Swift with its S3 interface: a real server that verifies SigV4 strictly and
# refuses conditional writes (501).
#   sh swift.sh start DIR; . DIR/env; …; sh swift.sh stop DIR
# env: SWIFT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, SWIFT_DOMAIN
# (buckets are also BUCKET.$SWIFT_DOMAIN), SWIFT_OTHER_SECRET of the key "test:other".
# Debian: swift-proxy swift-account swift-container swift-object python3-swift memcached
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"

defaults() { # PORT
	cat <<-X
		[DEFAULT]
		bind_ip = 127.0.0.1
		bind_port = $1
		user = $(id -un)
		swift_dir = $dir/etc
		devices = $data
		mount_check = false
		workers = 0
		fallocate_reserve = 0
		log_level = WARNING
	X
}

storage_config() { # NAME PORT
	defaults "$2"
	cat <<-X
		[pipeline:main]
		pipeline = $1-server
		[app:$1-server]
		use = egg:swift#$1
	X
}

# symlink has to stand right of versioned_writes.
proxy_config() { # PORT MEMCACHED-PORT
	filters="catch_errors gatekeeper healthcheck listing_formats bulk copy slo dlo symlink"
	defaults "$1"
	cat <<-X
		[pipeline:main]
		pipeline = catch_errors gatekeeper healthcheck proxy-logging cache listing_formats bulk s3api tempauth copy slo dlo versioned_writes symlink proxy-logging proxy-server
		[app:proxy-server]
		use = egg:swift#proxy
		account_autocreate = true
		[filter:proxy-logging]
		use = egg:swift#proxy_logging
		[filter:cache]
		use = egg:swift#memcache
		memcache_servers = 127.0.0.1:$2
		[filter:s3api]
		use = egg:swift#s3api
		location = us-east-1
		storage_domain = s3.test
		[filter:tempauth]
		use = egg:swift#tempauth
		user_test_tester = testing .admin
		user_test_other = secret2
		[filter:versioned_writes]
		use = egg:swift#versioned_writes
		allow_versioned_writes = true
		allow_object_versioning = true
	X
	for f in $filters; do
		printf '[filter:%s]\nuse = egg:swift#%s\n' "$f" "$f"
	done
}

rings() { # ACCOUNT-PORT CONTAINER-PORT OBJECT-PORT
	/usr/bin/python3 - "$dir/etc" "$@" <<-'X'
		import sys
		from swift.common.ring import RingBuilder
		folder = sys.argv[1]
		for name, port in zip(("account", "container", "object"), sys.argv[2:]):
		    ring = RingBuilder(4, 1, 1)
		    ring.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port),
		                  "device": "d1", "weight": 1.0, "meta": ""})
		    ring.rebalance()
		    ring.get_ring().save("%s/%s.ring.gz" % (folder, name))
	X
}

start() {
	for p in proxy account container object; do
		need "swift-$p-server" "swift-$p"
	done
	need memcached memcached
	need curl curl
	mkdir -p "$dir/etc" || exit 1
	data=$(make_data "$dir") || die "no place for data"
	mkdir -p "$data/d1"
	cat >"$dir/etc/swift.conf" <<-'X'
		[swift-hash]
		swift_hash_path_prefix = a
		swift_hash_path_suffix = b
		[storage-policy:0]
		name = one
		default = yes
	X
	ports=$(free_ports 5)
	# shellcheck disable=SC2086  # five words
	set -- $ports
	storage_config account "$1" >"$dir/etc/account.conf"
	storage_config container "$2" >"$dir/etc/container.conf"
	storage_config object "$3" >"$dir/etc/object.conf"
	proxy_config "$4" "$5" >"$dir/etc/proxy.conf"
	rings "$1" "$2" "$3" || die "cannot make the rings"
	begin "$dir" memcached memcached -u "$(id -un)" -l 127.0.0.1 -p "$5" -U 0 -m 32
	for p in account container object proxy; do
		begin "$dir" $p /usr/bin/swift-$p-server "$dir/etc/$p.conf" -v
	done
	started "$dir" "http://127.0.0.1:$4/healthcheck" -f
	for p in "$1" "$2" "$3"; do # the proxy may answer before the others do
		started "$dir" "http://127.0.0.1:$p/healthcheck"
	done
	cat >"$dir/env" <<-X
		SWIFT_URL=http://127.0.0.1:$4
		SWIFT_DOMAIN=s3.test
		AWS_ACCESS_KEY_ID=test:tester
		AWS_SECRET_ACCESS_KEY=testing
		AWS_REGION=us-east-1
		SWIFT_OTHER_SECRET=secret2
	X
}

stop() {
	end_all "$dir"
	remove_data "$dir"
	rm -f "$dir/env"
}

[ $# -eq 2 ] || usage
dir=$(realpath -m "$2")
case $1 in
start | stop) "$1" ;;
*) usage ;;
esac
