#!/bin/sh
# A bundle runs the whole life of a job where there is a shell and nothing else:
# not one library of ours, not even the same libc.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# A sanitizer wants its own runtime and /proc as it knows it.
[ "$SLOW" = 1 ] || skip_all "a sanitized program cannot be bundled"

run gpc agent --bundle one.tgz
is "$rc" 0 "agent --bundle writes a bundle" || note "$err"
is "${out%% *}" "$(sha256sum one.tgz | cut -d' ' -f1)" "and prints its sha256"
note "$err"
gpc agent --bundle two.tgz >/dev/null 2>&1
cmp -s one.tgz two.tgz
ok $? "the same program gives the same bytes"
names=$(tar tzf one.tgz)
for lib in libarchive libcrypto libzstd libcjson libyaml libcurl libssl libexpat libc.so ld-; do
	like "$names" "^lib/$lib" "it holds $lib"
done
like "$names" "^etc/ca-certificates.crt" "and certificates"
run gpc agent --add-bundle one.tgz
is "$rc" 3 "one's own need not be taken up"
like "$err" "is for $(tar xOzf one.tgz etc/version | cut -d' ' -f3), as is this gpucloud" \
	"it says what it is for"
head -c 1000000 one.tgz >cut.tgz
run gpc agent --add-bundle cut.tgz
is "$rc" 3 "nor is a part of one"
like "$err" "no whole bundle" "and it is said"

# A server with a certificate of its own, and a bundle whose certificates are that.
servers=$ROOT/tests/servers
openssl req -x509 -newkey rsa:2048 -nodes -keyout own.key -out own.pem -days 2 \
	-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null
sh "$servers/fakecloud.sh" start "$T/fake" --cert "$PWD/own.pem" \
	--key "$PWD/own.key" 2>"$T/fake.err" || rm -f own.pem
ended() {
	sh "$servers/fakecloud.sh" stop "$T/fake"
	cleanup
}
trap ended EXIT

image=$T/image
mkdir -p "$image/opt/gpucloud" "$image/bin" "$image/proc" "$image/dev" \
	"$image/etc" "$image/root" "$image/work" "$image/tmp"
tar xzf one.tgz -C "$image/opt/gpucloud"
# The image: a shell with what it needs itself.
cp "$(command -v bash)" "$image/bin/bash"
ln -s bash "$image/bin/sh"
for lib in $(ldd "$(command -v bash)" | grep -o '/[^ ]*'); do
	mkdir -p "$image${lib%/*}"
	cp -L "$lib" "$image$lib"
done
echo 'root:x:0:0:root:/root:/bin/bash' >"$image/etc/passwd"
echo hello >"$image/work/greeting"
if [ -f own.pem ]; then
	SSL_CERT_FILE=$PWD/own.pem gpc agent --bundle own.tgz >/dev/null 2>&1
	mkdir "$image/opt/own"
	tar xzf own.tgz -C "$image/opt/own"
	cmp -s own.pem "$image/opt/own/etc/ca-certificates.crt"
	ok $? "a bundle takes the certificates along that are in use here"
	cp own.pem "$image/work"
	grep -E '^(AWS_|FAKES_S3)' "$T/fake/env" | sed 's/^/export /; s/localhost/127.0.0.1/' \
		>"$image/work/cloud"
fi
cat >inside.sh <<'S'
set -e
mount -t proc proc "$1/proc"
touch "$1/dev/null"
mount --bind /dev/null "$1/dev/null"
exec env -i HOME=/root PATH=/bin TMPDIR=/tmp "$(command -v chroot)" "$1" /bin/bash -c '
	cd /work
	gpucloud=/opt/gpucloud/gpucloud
	$gpucloud version || exit
	$gpucloud submit --name bare --workdir /work -- bash -c "
		read -r line <greeting && echo \$line && gpucloud version"
	echo "exit $?"
	$gpucloud status bare
	$gpucloud wait bare && echo waited
	[ -f cloud ] || exit 0
	. ./cloud
	export GPUCLOUD_STORE="s3://bucket?endpoint=$FAKES_S3"
	$gpucloud check store 2>&1
	echo "https by what the bundle brings: $?"
	GPUCLOUD_CA_FILE=/work/own.pem $gpucloud check store 2>&1
	echo "https by ca_file: $?"
	/opt/own/gpucloud check store 2>&1
	echo "https by an own bundle: $?"
'
S
own=
[ "$(id -u)" = 0 ] || own=-r
if ! unshare $own -m -p -f true 2>/dev/null; then
	skip "a job in a bare image" "namespaces are not to be had here"
	finish
	exit
fi
# A namespace of processes of its own: they all end with the script.
run unshare $own -m -p -f sh inside.sh "$image"
like "$out" "^hello" "a job runs there"
like "$out" "^exit 0" "and succeeds"
like "$out" "State: *SUCCEEDED" "status, too"
like "$out" "^waited" "and wait"
is "$(printf '%s\n' "$out" | grep -c '^gpucloud [0-9]')" 2 "gpucloud is on the job's PATH"
[ "$rc" = 0 ] || note "$err"
if [ -f own.pem ]; then
	like "$out" "^https by what the bundle brings: 7" "a server of an unknown authority is not believed"
	like "$out" "from an authority that is not known here" "by the certificates that the bundle brings"
	like "$out" "^https by ca_file: 0" "HTTPS with a file of one's own"
	like "$out" "^https by an own bundle: 0" "HTTPS with what the bundle brings, and nothing said"
	sh "$servers/fakecloud.sh" stop "$T/fake"
else
	skip "HTTPS in a bare image" "no server: $(tail -n 1 "$T/fake.err" 2>/dev/null)"
fi

finish
