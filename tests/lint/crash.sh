#!/bin/sh
# Crash points (lib/base/crash.h): each name is its own, and in a build without
# them nothing of them is left in what the compiler sees.
#   crash.sh SOURCE-ROOT COMPILER...
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"
cd "$1" || exit 1
shift

points=$(grep -rhoE 'GPC_CRASH\([^)]*\)' --include='*.c' lib cmd)
ok "each point has a name of its own" "$(printf '%s\n' "$points" | sort | uniq -d)"
ok "names are room.step" \
  "$(printf '%s\n' "$points" | grep -Ev '^GPC_CRASH\("[a-z]+\.[a-z_]+"\)$')"

left() {
  grep -rlE 'GPC_CRASH\(|GPC_CRASH_ENV' --include='*.c' lib cmd |
    grep -v '^lib/base/crash\.c$' |
    while read -r file; do
      text=$("$@" -E -P -D_GNU_SOURCE -Ilib -I. "$file" 2>&1) ||
        echo "$file: cannot be read"
      printf '%s\n' "$text" | grep -Ei 'gpc_crash|GPUCLOUD_CRASH' | sed "s|^|$file: |"
    done
}
ok "a build without crash points has nothing of them" "$(left "$@")"
finish
