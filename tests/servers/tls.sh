#!/bin/sh
# nginx before an HTTP server: TLS with a throw-away authority, and ports that misbehave.
#   sh tls.sh start DIR URL; . DIR/env; …; sh tls.sh stop DIR
# env, each a URL but the first:
#   TLS_CA        file with the authority's certificate
#   TLS_URL       https://localhost:…; also good for 127.0.0.1, s3.test, *.s3.test
#   TLS_OTHER_URL https, with a certificate for another name
#   TLS_SELF_URL  https, with a certificate that signs itself
#   BUSY_URL      answers one request in three with 503 SlowDown
#   SLOW_URL      5 requests a second (else 503), answers at 1 MB/s
#   CUT_URL       ends each connection without an answer
#   MOVED_URL     307 to URL
# Debian: nginx-light openssl
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"

new_key() { # NAME
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$dir/$1.key" \
		2>>"$dir/openssl.log"
}

own_certificate() { # NAME SUBJECT EXTENSION
	new_key "$1" && openssl req -x509 -key "$dir/$1.key" -days 30 -subj "/CN=$2" \
		-out "$dir/$1.pem" -addext "$3" 2>>"$dir/openssl.log"
}

signed_certificate() { # NAME SUBJECT-ALT-NAMES
	printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "$2" >"$dir/$1.ext"
	new_key "$1" && openssl req -new -key "$dir/$1.key" -subj "/CN=$1.test" \
		-out "$dir/$1.csr" 2>>"$dir/openssl.log" &&
		openssl x509 -req -in "$dir/$1.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" \
			-CAcreateserial -days 10 -extfile "$dir/$1.ext" -out "$dir/$1.pem" \
			2>>"$dir/openssl.log"
}

certificates() {
	own_certificate ca gpucloud-test-ca keyUsage=critical,keyCertSign,cRLSign &&
		own_certificate self localhost subjectAltName=DNS:localhost &&
		signed_certificate good \
			"DNS:s3.test,DNS:*.s3.test,DNS:localhost,IP:127.0.0.1" &&
		signed_certificate other DNS:other.test && return
	cat "$dir/openssl.log" >&2
	die "cannot make certificates"
}

pass() {
	cat <<-X
		proxy_pass $url;
		proxy_http_version 1.1;
		proxy_set_header Host \$http_host;
		proxy_set_header Connection "";
	X
}

https() { # PORT CERTIFICATE
	cat <<-X
		server {
			listen 127.0.0.1:$1 ssl;
			ssl_certificate $dir/$2.pem;
			ssl_certificate_key $dir/$2.key;
			ssl_protocols TLSv1.2 TLSv1.3;
			location / { $(pass) }
		}
	X
}

config() { # SEVEN-PORTS
	slow_down="<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
	cat <<-X
		daemon off;
		pid $dir/nginx.pid;
		error_log $dir/log/error.log warn;
		worker_processes 1;
		events { worker_connections 512; }
		http {
			access_log $dir/log/access.log;
			client_max_body_size 0;
			proxy_request_buffering off;
			proxy_buffering off;
			merge_slashes off;
			client_body_temp_path $dir/tmp1;
			proxy_temp_path $dir/tmp2;
			fastcgi_temp_path $dir/tmp3;
			uwsgi_temp_path $dir/tmp4;
			scgi_temp_path $dir/tmp5;
			split_clients "\$request_id" \$busy { 33% 1; * 0; }
			limit_req_zone \$server_port zone=slow:1m rate=5r/s;
			server {
				listen 127.0.0.1:$4;
				location / {
					if (\$busy) { return 503 '$slow_down'; }
					$(pass)
				}
			}
			server {
				listen 127.0.0.1:$5;
				limit_req_status 503;
				location / { limit_req zone=slow burst=2; limit_rate 1m; $(pass) }
			}
			server { listen 127.0.0.1:$6; location / { return 444; } }
			server { listen 127.0.0.1:$7; location / { return 307 $url\$request_uri; } }
	X
	https "$1" good
	https "$2" other
	https "$3" self
	echo "}"
}

start() {
	need nginx nginx-light
	need openssl openssl
	need curl curl
	mkdir -p "$dir/log" || exit 1
	certificates
	ports=$(free_ports 7)
	# shellcheck disable=SC2086  # seven words
	set -- $ports
	config "$@" >"$dir/nginx.conf"
	begin "$dir" nginx nginx -e "$dir/log/error.log" -p "$dir" -c "$dir/nginx.conf"
	started "$dir" "https://localhost:$1/" --cacert "$dir/ca.pem"
	cat >"$dir/env" <<-X
		TLS_CA=$dir/ca.pem
		TLS_URL=https://localhost:$1
		TLS_OTHER_URL=https://localhost:$2
		TLS_SELF_URL=https://localhost:$3
		BUSY_URL=http://127.0.0.1:$4
		SLOW_URL=http://127.0.0.1:$5
		CUT_URL=http://127.0.0.1:$6
		MOVED_URL=http://127.0.0.1:$7
	X
}

stop() {
	end_all "$dir"
	rm -f "$dir/env"
}

[ $# -ge 2 ] || usage URL
dir=$(realpath -m "$2")
url=${3:-}
case $1:$# in
start:3 | stop:2) "$1" ;;
*) usage URL ;;
esac
