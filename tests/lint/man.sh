#!/bin/sh
# The manual says what the program does: options of every command in both
# directions, the list of commands, the synopsis, and the configuration's keys.
#   man.sh SOURCE-ROOT GPUCLOUD COMMAND...
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"
root=$1
gpucloud=$2
shift 2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# --[no-]x counts as --x, in help as in the manual.
help_options() {
  sed -nE 's/^  (-[A-Za-z],|   ) --(\[no-\])?([a-z0-9-]+).*/--\3/p' | sort -u
}

# What lines of the section OPTIONS define: *-o*, *--output* _FORMAT_
man_options() {
  awk '/^# / { in_options = ($0 == "# OPTIONS") } in_options && /^\*-/' "$1" |
    grep -oE '\*--[a-z0-9-]+' | tr -d '*' | sort -u >"$tmp/raw"
  cp "$tmp/raw" "$tmp/each"
  while read -r option; do
    base=--${option#--no-}
    if [ "$option" != "$base" ] && grep -qxF -- "$base" "$tmp/raw"; then
      continue
    fi
    echo "$option"
  done <"$tmp/each"
}

"$gpucloud" --help | help_options >"$tmp/global"
# gpucloud(1) describes these for all commands.
{ cat "$tmp/global"; printf '%s\n' --store --profile --output --json; } |
  sort -u >"$tmp/shared"

options_agree() { # COMMAND
  page=$root/man/gpucloud-$1.1.scd
  [ -f "$page" ] || { echo "$page does not exist"; return; }
  "$gpucloud" "$1" --help | help_options >"$tmp/help"
  man_options "$page" >"$tmp/man"
  comm -23 "$tmp/help" "$tmp/man" | comm -23 - "$tmp/shared" |
    sed 's/$/ is not in the manual page/'
  comm -13 "$tmp/help" "$tmp/man" | sed 's/$/ is only in the manual page/'
}

# The words of the usage lines, without the marks of scdoc and line breaks.
synopsis_agrees() { # COMMAND
  page=$root/man/gpucloud-$1.1.scd
  [ -f "$page" ] || return
  "$gpucloud" "$1" --help |
    awk '/^$/ { exit } { sub(/^usage: | *(or:)? +/, ""); print }' |
    tr -s ' \n' '\n' >"$tmp/help"
  awk '/^# / { on = ($0 == "# SYNOPSIS"); next } on' "$page" |
    sed 's/++$//; s/[*_\\]//g' | tr -s ' \n' '\n' | sed '/^$/d' >"$tmp/man"
  diff "$tmp/help" "$tmp/man"
}

title_agrees() { # COMMAND
  page=$root/man/gpucloud-$1.1.scd
  [ -f "$page" ] || return
  summary=$("$gpucloud" help | sed -n "s/^  $1  *//p")
  grep -qxF "gpucloud-$1 - $summary" "$page" ||
    echo "NAME is not \"gpucloud-$1 - $summary\""
}

commands_agree() {
  printf '%s\n' "$@" | sort >"$tmp/list"
  awk '/^# / { on = ($0 == "# COMMANDS") } on' "$root/man/gpucloud.1.scd" |
    sed -nE 's/^(\[\[|\|) +\*([a-z]+)\*$/\2/p' | sort >"$tmp/man"
  diff "$tmp/list" "$tmp/man"
}

main_options_agree() {
  man_options "$root/man/gpucloud.1.scd" >"$tmp/man"
  # -o and --json stand in the section OUTPUT
  for option in --output --json; do
    grep -qF -- "*$option*" "$root/man/gpucloud.1.scd" && echo "$option"
  done | sort - "$tmp/man" | diff "$tmp/shared" -
}

config_agrees() {
  sed -nE 's/^\t\t"([a-z_.]+)", GPC_CONFIG_.*/\1/p' "$root/lib/model/config.c" |
    sort >"$tmp/fields"
  sed -nE 's/^\*([a-z_.]+)\*: .*/\1/p' "$root/man/gpucloud-config.5.scd" |
    sort >"$tmp/man"
  [ -s "$tmp/fields" ] || echo "no key found in lib/model/config.c"
  diff "$tmp/fields" "$tmp/man"
}

pages_build() {
  for page in "$root"/man/*.scd; do
    scdoc <"$page" >"$tmp/page" 2>"$tmp/err" || echo "$page: $(cat "$tmp/err")"
  done
}


ok "gpucloud(1) lists the commands" "$(commands_agree "$@")"
ok "gpucloud(1) describes the shared options" "$(main_options_agree)"
ok "gpucloud-config(5) lists the keys" "$(config_agrees)"
for command in "$@"; do
  ok "options of $command" "$(options_agree "$command")"
  ok "synopsis of $command" "$(synopsis_agrees "$command")"
  ok "title of $command" "$(title_agrees "$command")"
done
if command -v scdoc >/dev/null; then
  ok "every page is valid scdoc" "$(pages_build)"
else
  skip "every page is valid scdoc" "scdoc is not here"
fi
finish
