#!/bin/sh
# --help of every command: on stdout, exit status 0, at most 80 columns; what is
# wrong on the command line: on stderr, exit status 2, nothing on stdout.
#   help.sh GPUCLOUD COMMAND...
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"
gpucloud=$1
shift

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

run() {
  "$gpucloud" "$@" >"$tmp/out" 2>"$tmp/err"
  status=$?
}

check_help() {
  [ "$status" -eq 0 ] || echo "exit status $status, expected 0"
  [ -s "$tmp/out" ] || echo "nothing on stdout"
  [ ! -s "$tmp/err" ] || echo "on stderr: $(cat "$tmp/err")"
  LC_ALL=C.UTF-8 awk 'length($0) > 80 { print "longer than 80: " $0 }' "$tmp/out"
  grep -n '[[:space:]]$' "$tmp/out" | sed 's/^/blank at the end: /'
  head -n 1 "$tmp/out" | grep -q "^usage: gpucloud $1" ||
    echo "does not begin with \"usage: gpucloud $1\""
}

check_usage_error() {
  [ "$status" -eq 2 ] || echo "exit status $status, expected 2"
  [ ! -s "$tmp/out" ] || echo "on stdout: $(cat "$tmp/out")"
  head -n 1 "$tmp/err" | grep -q '^gpucloud: ' ||
    echo "no message: $(cat "$tmp/err")"
}

run --help
ok "gpucloud --help" "$(check_help COMMAND)"
run
ok "no command is an error" "$(check_usage_error)"
run no-such-command
ok "an unknown command is an error" "$(check_usage_error)"
for command in "$@"; do
  run "$command" --help
  ok "$command --help" "$(check_help "$command")"
  cp "$tmp/out" "$tmp/long"
  run "$command" -h
  cp "$tmp/out" "$tmp/short"
  run help "$command"
  ok "help $command and $command -h say the same" \
    "$(diff "$tmp/long" "$tmp/short"; diff "$tmp/long" "$tmp/out")"
  run "$command" --no-such-option
  ok "$command refuses an unknown option" "$(check_usage_error)"
  run help
  ok "help lists $command" "$(grep -q "^  $command  *[a-z]" "$tmp/out" ||
    echo 'it does not')"
done
finish
