#!/bin/sh
# Every header compiles alone: whoever includes it needs nothing before it.
#   headers.sh SOURCE-ROOT COMPILER...
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"
cd "$1" || exit 1
shift

alone() {
  find lib cmd -name '*.h' | sort | while read -r header; do
    "$@" -std=c11 -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 \
      -Wall -Wextra -Wpedantic -Werror -Ilib -I. -fsyntax-only \
      -include "$header" -x c - 2>&1 <<'C'
extern int gpc_not_empty;
C
  done
}

ok "headers compile alone" "$(alone "$@")"
ok "headers are guarded by #pragma once" \
  "$(find lib cmd -name '*.h' -exec grep -L '^#pragma once$' {} +)"
finish
