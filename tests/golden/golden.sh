#!/bin/sh
# What gpucloud prints, word for word: every --help, and the cases in `cases`.
# After a wanted change: GOLDEN_UPDATE=1 meson test --suite golden, then read
# the diff.
#   golden.sh SOURCE-ROOT GPUCLOUD COMMAND...
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lint/tap.sh
. "$here/../lint/tap.sh"
root=$1
gpucloud=$2
shift 2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export HOME="$tmp/home" XDG_CONFIG_HOME="$tmp/config" XDG_DATA_HOME="$tmp/data" \
  XDG_STATE_HOME="$tmp/state" XDG_CACHE_HOME="$tmp/cache" TZ=UTC NO_COLOR=1
unset GPUCLOUD_STORE GPUCLOUD_COLOR GPUCLOUD_LOG_LEVEL
mkdir -p "$HOME" "$tmp/work"
cd "$tmp/work" || exit 1

# Both streams and the status, with places that differ taken out.
record() {
  "$gpucloud" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
  status=$?
  {
    echo "\$ gpucloud $*"
    cat "$tmp/out"
    [ ! -s "$tmp/err" ] || sed 's/^/! /' "$tmp/err"
    echo "exit $status"
  } | sed "s|$tmp|TMP|g" >"$tmp/got"
}

compare() { # NAME
  file=$here/$1.txt
  if [ -n "${GOLDEN_UPDATE:-}" ]; then
    cp "$tmp/got" "$file"
  elif [ ! -f "$file" ]; then
    echo "${file#"$root"/} does not exist: run with GOLDEN_UPDATE=1"
  else
    diff -u "$file" "$tmp/got"
  fi
}

record --help
ok "help" "$(compare help)"
for command in "$@"; do
  record "$command" --help
  ok "help-$command" "$(compare "help-$command")"
done
# NAME: WORDS
while IFS=: read -r name words; do
  case $name in '' | \#*) continue ;; esac
  # shellcheck disable=SC2086  # split into words
  record $words
  ok "$name" "$(compare "$name")"
done <"$here/cases"
for file in "$here"/*.txt; do
  name=$(basename "$file" .txt)
  case " help $(printf 'help-%s ' "$@") $(sed 's/:.*//' "$here/cases" | tr '\n' ' ') " in
    *" $name "*) ;;
    *) ok "$name" "nothing makes tests/golden/$name.txt any more" ;;
  esac
done
finish
