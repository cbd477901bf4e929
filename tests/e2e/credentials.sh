#!/bin/sh
# Files that look like credentials are named before anything is stored, or
# refused, or let through; what they hold is shown nowhere.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

KEY=b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE
mkdir -p proj/conf proj/certs keys
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n' "$KEY" >proj/conf/id_ed25519
printf 'EPOCHS=3\nHF_TOKEN=hf_%s\n' "$KEY" >proj/.env
printf 'API_KEY=changeme\n' >proj/test.env
printf -- '-----BEGIN CERTIFICATE-----\nMIIB\n' >proj/certs/ca.pem
printf 'print(1)\n' >proj/train.py
printf '[default]\naws_secret_access_key = %s\n' "$KEY" >keys/credentials
mkdir mnt && mkdir mnt/.aws && cp keys/credentials mnt/.aws/
cat >job.yaml <<'Y'
name: c
workdir: proj
run: ls -A
Y
cat >mount.yaml <<'Y'
name: m
file_mounts:
  cfg: mnt
  one/creds.key: proj/conf/id_ed25519
run: 'true'
Y
clean() { unlike "$out$err" "$KEY" "$1: no content is shown"; }

run gpc submit -n job.yaml
is "$rc" 0 "a dry run warns"
like "$err" '2 files that would be stored .* look like credentials: .env \(tokens or passwords\), conf/id_ed25519 \(a private key\)' "by path and kind"
like "$err" '/.env in .gpucloudignore.*--secret NAME=@FILE.*--credentials=allow' "and says the ways out"
unlike "$err" 'ca.pem \(|test.env \(' "certificates and placeholders are not named"
clean "dry run"
[ ! -e "$STORE" ]
ok $? "nothing was stored"

run gpc submit -n -q job.yaml
like "$err" 'warning: 2 files .*: .env \(tokens or passwords\), conf/id_ed25519' "-q does not hide it"
run gpc submit -n --json job.yaml
like "$out" '"path": "conf/id_ed25519"' "the JSON plan has them"
like "$out" '"looks_like": "a private key"' "with what they look like"
clean "JSON"

run gpc submit -n mount.yaml
like "$err" 'credentials: cfg/.aws/credentials \(keys of AWS\), one/creds.key \(a private key\)' "file mounts are looked at too"
run gpc submit -n --json mount.yaml
like "$out" '"in": "file_mounts"' "the JSON says where"

run gpc submit --credentials refuse job.yaml
is "$rc" 3 "refuse: an error"
like "$err" 'looks like credentials: .env .*conf/id_ed25519' "which names them"
clean "refuse"
is "$(find "$STORE/jobs" -name job.json 2>/dev/null | grep -c .)" 0 "no job was made"
run gpc submit -n --credentials=allow job.yaml
unlike "$err" 'credentials' "allow: not a word"
GPUCLOUD_SUBMIT_CREDENTIALS=refuse run gpc submit -n job.yaml
is "$rc" 3 "the configuration can refuse"
GPUCLOUD_SUBMIT_CREDENTIALS=refuse run gpc submit -n --credentials warn job.yaml
is "$rc" 0 "and the option wins over it"
printf 'submit:\n  credentials: allow\n' >.gpucloud.yaml
run gpc submit -n job.yaml
is "$rc" 3 "a project's file may not silence it"
rm .gpucloud.yaml
run gpc submit -n --credentials maybe job.yaml
is "$rc" 2 "another word is refused"

printf '.env\n/conf/\n' >proj/.gpucloudignore
run gpc submit job.yaml
is "$rc" 0 "left out, the job runs"
unlike "$err" 'credentials' "without a warning"
unlike "$out" '^(.env|conf)$' "and without them"

# Many are counted; odd names stay on their line.
rm proj/.gpucloudignore
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cp proj/conf/id_ed25519 "proj/conf/k$i.pem"; done
cp proj/conf/id_ed25519 "proj/conf/a
b.pem"
run gpc submit -n job.yaml
like "$err" '15 files .* and 5 more' "ten are named, the rest is counted"
like "$err" 'conf/a.x0ab.pem' "a line end in a name is made visible"
chmod 000 proj/conf/k1.pem 2>/dev/null
run gpc submit -n --skip-unreadable job.yaml
is "$rc" 0 "one that cannot be read is no reason to fail"
finish
