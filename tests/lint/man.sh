#!/bin/sh
# The manual says what the program does, in both directions: options of every
# command with their letters, arguments, words and defaults, the list of commands,
# the synopsis, exit statuses, reasons, events, variables of the environment, the
# fields of a spec and the configuration's keys; its references lead somewhere, and
# its pages fit into 80 columns.
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

# "-o --output FORMAT" per option; an optional [=VALUE] as it is.
help_forms() {
  sed -nE 's/^  (-[A-Za-z]|  )(,| ) (--[^ ]+( [^ ]+)?)(  .*)?$/\1 \3/p' |
    sed -E 's/^ +//; s/\[no-\]//' | sort -u
}

# The lines that define options, without the marks of scdoc.
man_forms() {
  awk '/^# / { on = ($0 == "# OPTIONS" || $0 == "# OUTPUT") } on && /^\*-/' "$1" |
    sed -E 's/, \*--no-[a-z-]+\*$//; s/[*_\\]//g; s/[+]+$//
      s/(^|, )(-[A-Za-z]), --/\1\2 --/g; s/, -/\n-/g' | sort -u
}

forms_agree() { # COMMAND
  page=$root/man/gpucloud-$1.1.scd
  "$gpucloud" "$1" --help | help_forms >"$tmp/help"
  # some are described as those of submit, with their names alone
  for from in "$page" "$root/man/gpucloud.1.scd" "$root/man/gpucloud-submit.1.scd"; do
    man_forms "$from"
  done | sort -u >"$tmp/man"
  comm -23 "$tmp/help" "$tmp/man" | sed 's/$/ is not in the manual page, in this form/'
}

# What help says in [brackets] or after a colon stands in the option's paragraph.
words_agree() { # COMMAND
  page=$root/man/gpucloud-$1.1.scd
  "$gpucloud" "$1" --help | awk '
    /^Options:/ { on = 1; next }
    !on { next }
    /^  (-.,|   ) --/ { if (text) print text; text = $0; next }
    { sub(/^ +/, " "); text = text $0 }
    END { print text }' >"$tmp/rows"
  while IFS= read -r row; do
    name=$(printf '%s\n' "$row" | grep -oE -m 1 -- '--(\[no-\])?[a-z0-9-]+' | head -n 1 |
      sed 's/\[no-\]//')
    { printf '%s\n' "$row" | sed -nE 's/.* \[([^]]+)\]$/\1/p'
      printf '%s\n' "$row" | sed -nE 's/.*[a-z]: ([a-z0-9_]+(, [a-z0-9_]+)+)( \[.*\])?$/\1/p' |
        tr -d ' ' | tr ',' '\n'; } >"$tmp/words"
    [ -s "$tmp/words" ] || continue
    cat "$page" "$root/man/gpucloud.1.scd" |
      awk -v option="$name" '/^\*-/ { on = index($0, "*" option "*") } /^# / { on = 0 } on' |
      sed 's|\\_|@@|g; s|[*_\\]| |g; s|@@|_|g' >"$tmp/paragraph"
    # the marks stand for letters too: local_x is written as it is
    while IFS= read -r word; do
      tr -s ' \t\n;,.' '\n' <"$tmp/paragraph" | grep -qxF -- "$(echo "$word" | sed 's/_/ /g')" ||
        grep -qF -- "$word" "$tmp/paragraph" || spelt_out "$word" ||
        echo "$name: the manual page does not name $word"
    done <"$tmp/words"
  done <"$tmp/rows"
}

# 10m may be written as 10 minutes.
spelt_out() {
  n=${1%?}
  case $1 in
    *[!0-9]*[!0-9]* | [!0-9]*) return 1 ;;
    *s) grep -qE "$n seconds?" "$tmp/paragraph" ;;
    *m) grep -qE "$n minutes?" "$tmp/paragraph" ;;
    *h) grep -qE "$n hours?" "$tmp/paragraph" ;;
    *d) grep -qE "$n days?" "$tmp/paragraph" ;;
    *) return 1 ;;
  esac
}

commands_agree() {
  "$gpucloud" help | awk '/^Options/ { exit } /^  [a-z]/ { name = $1; sub(/^ *[a-z]+ +/, "");
    print name ": " $0 }' | sort >"$tmp/list"
  awk '/^# / { on = ($0 == "# COMMANDS") } on' "$root/man/gpucloud.1.scd" |
    awk '/^(\[\[|\|) +\*[a-z]+\*$/ { name = $2; gsub(/\*/, "", name); next }
      name { sub(/^:\[? */, ""); print name ": " $0; name = "" }' | sort >"$tmp/man"
  diff "$tmp/list" "$tmp/man"
  [ "$(grep -c . "$tmp/list")" -eq $# ] || echo "help does not list $# commands"
}

section() { # PAGE TITLE
  awk -v title="# $2" '/^# / { on = ($0 == title); next } on' "$1"
}

# The numbers of the table, and those in the tables of the code.
statuses_agree() {
  sed -nE 's/.*\[GPC_E[A-Z]+\] = \{"[a-z_]+", ([0-9]+),.*/\1/p' "$root/lib/base/err.c" |
    sort -u >"$tmp/code"
  [ -s "$tmp/code" ] || echo "no exit status found in lib/base/err.c"
  section "$root/man/gpucloud.1.scd" "EXIT STATUS" |
    sed -nE 's/^(\[\[|\|) +//p' | grep -oE '[0-9]+' | sort -u >"$tmp/man"
  comm -23 "$tmp/code" "$tmp/man" | sed 's/$/ is in lib\/base\/err.c alone/'
  # ends of jobs, signals and success do not come from the table of errors
  printf '%s\n' 0 124 125 128 129 137 141 143 | sort - "$tmp/code" | uniq >"$tmp/known"
  comm -13 "$tmp/known" "$tmp/man" | sed 's/$/ is in gpucloud(1) alone/'
}

# What a table of names in the code holds, in a page.
names_agree() { # FILE ARRAY PAGE
  awk -v array="$2\\[\\] = " '$0 ~ array { on = 1 } on && /^};/ { exit } on' "$root/$1" |
    sed -nE 's/.*= "([a-zA-Z_]+)".*/\1/p' >"$tmp/names"
  [ -s "$tmp/names" ] || echo "no name found in $2 of $1"
  while read -r name; do
    grep -qE "(^|[^a-zA-Z_])\\*?$name\\*?([^a-zA-Z_]|\$)" "$root/man/$3.scd" || echo "$name"
  done <"$tmp/names"
}

variables_agree() {
  { grep -rhoE 'getenv\("[A-Z_]+"' "$root/cmd" "$root/lib"
    grep -rhoE 'env_set\("[A-Z_]+"' "$root/cmd" "$root/lib"
    grep -rhoE '"(GPUCLOUD|XDG)_[A-Z_]+"' "$root/cmd" "$root/lib"; } |
    grep -oE '[A-Z_]+"' | tr -d '"' | grep -v '_$' | sort -u |
    while read -r name; do
      case $name in GPUCLOUD_CRASH*) continue ;; esac # debug builds only
      grep -qF -- "$name" "$root/man/gpucloud.1.scd" "$root/man/gpucloud-config.5.scd" \
        "$root/man/gpucloud-job.7.scd" || echo "$name"
    done
}

fields_agree() {
  "$gpucloud" help spec | sed -nE 's/^  ([a-z_.]+)( .*)?$/\1/p' | sort -u >"$tmp/fields"
  [ -s "$tmp/fields" ] || echo "help spec lists nothing"
  while read -r field; do
    grep -qE "\\*([^*]*[^a-z_*])?${field##*.}([^a-z_*][^*]*)?\\*" "$root/man/gpucloud-spec.5.scd" ||
      echo "$field"
  done <"$tmp/fields"
}

# name(section) of ours leads to a page, and the link back is known.
references_lead() {
  grep -oE 'gpucloud[a-z-]*\*?\([0-9]\)' "$root"/man/*.scd | tr -d '*' |
    sed 's|.*/||' | while IFS=: read -r page to; do
      name=${to%(*} number=${to#*\(}
      case $name in gpucloud-COMMAND) continue ;; esac
      [ -f "$root/man/$name.${number%\)}.scd" ] || echo "$page: there is no $to"
    done
  for page in "$root"/man/*.scd; do
    name=$(basename "$page" .scd)
    grep -q "'$name'" "$root/man/meson.build" || [ "${name%.1}" != "$name" ] ||
      echo "$name is not in man/meson.build"
    [ "$(head -n 1 "$page")" = "${name%.*}(${name##*.})" ] || echo "$name: wrong first line"
    [ "$(section "$page" "SEE ALSO" | grep -c gpucloud)" -gt 0 ] ||
      echo "$name: SEE ALSO is missing"
  done
}

statuses_documented() { # COMMAND
  page=$root/man/gpucloud-$1.1.scd
  [ -n "$(section "$page" "EXIT STATUS")" ] || echo "no section EXIT STATUS"
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

# As `man` shows them: also tables and examples, which are not broken into lines.
pages_fit() {
  for page in "$root"/man/*.scd; do
    scdoc <"$page" >"$tmp/page" 2>/dev/null
    groff -t -man -Tutf8 -P-cbou -rLL=80n "$tmp/page" 2>"$tmp/err" |
      LC_ALL=C tr -d '\200-\277' | # so that a byte is a character
      LC_ALL=C awk -v page="${page##*/}" '
        length($0) > 80 { print page ": longer than 80: " $0 }
        END { if (NR < 10) print page ": groff shows nothing of it" }'
    sed "s|^|${page##*/}: |" "$tmp/err"
  done
}

ok "gpucloud(1) lists the commands" "$(commands_agree "$@")"
ok "gpucloud(1) describes the shared options" "$(main_options_agree)"
ok "gpucloud(1) has the exit statuses of the code" "$(statuses_agree)"
ok "gpucloud-job(7) has the reasons" \
  "$(names_agree lib/model/job.c gpc_reason_names gpucloud-job.7)"
ok "gpucloud-job(7) has the states" \
  "$(names_agree lib/model/job.c gpc_job_status_names gpucloud-job.7)"
ok "gpucloud-store(7) has the events" \
  "$(names_agree lib/model/event.c gpc_event_type_names gpucloud-store.7)"
ok "variables of the environment are described" "$(variables_agree)"
ok "gpucloud-spec(5) has the fields" "$(fields_agree)"
ok "references lead somewhere" "$(references_lead)"
ok "gpucloud-config(5) lists the keys" "$(config_agrees)"
for command in "$@"; do
  ok "options of $command" "$(options_agree "$command")"
  ok "letters and arguments of $command" "$(forms_agree "$command")"
  ok "words and defaults of $command" "$(words_agree "$command")"
  ok "exit statuses of $command" "$(statuses_documented "$command")"
  ok "synopsis of $command" "$(synopsis_agrees "$command")"
  ok "title of $command" "$(title_agrees "$command")"
done
if command -v scdoc >/dev/null; then
  ok "every page is valid scdoc" "$(pages_build)"
else
  skip "every page is valid scdoc" "scdoc is not here"
fi
if command -v scdoc >/dev/null && command -v groff >/dev/null; then
  ok "every page fits into 80 columns" "$(pages_fit)"
else
  skip "every page fits into 80 columns" "scdoc or groff is not here"
fi
finish
