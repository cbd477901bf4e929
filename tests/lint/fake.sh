#!/bin/sh
# The pretend cloud's manual, gpucloud-fake(7), knows each word of its script.
#   fake.sh SOURCE-ROOT
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"
cd "$1" || exit 1
book=lib/provider/fake_book.c
page=man/gpucloud-fake.7.scd

words() { # of the array of names $1
  sed -n "/^const char \*const $1\[\]/,/^}/p" "$book" | grep -oE '"[a-z_]+"' |
    tr -d '"' | grep -vx none
}
members() { # of the table of $1
  grep -oE "^	$1\([a-z_]+" "$book" | sed 's/.*(//' | grep -vx rest
}
lacks() { # PATTERN-BEFORE PATTERN-AFTER
  while read -r word; do
    grep -Eq "$1$word$2" "$page" || echo "$word"
  done
}

ok "there are faults to look for" "$([ "$(words gpc_fake_how_names | wc -l)" -ge 11 ] ||
  echo "found: $(words gpc_fake_how_names)")"
ok "gpucloud-fake(7) has every fault" "$(words gpc_fake_how_names | lacks '^\|  ' '$')"
ok "gpucloud-fake(7) has every call" "$(words gpc_fake_op_names | lacks '\*' '\*')"
ok "gpucloud-fake(7) has every member of a fault" "$(members FAULT | lacks '\*' '\*')"
ok "gpucloud-fake(7) has every member of a script" "$(members SCRIPT | lacks '\*' '\*')"
finish
