#!/bin/sh
# The layer rules, from the sources: includes go downward only, a header of
# somebody else is included by one file of lib/dep, and a backend or a command
# has no header and exports exactly one symbol.
#   layering.sh SOURCE-ROOT BUILD-ROOT STORES PROVIDERS COMMANDS
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"

root=$1
build=$2
stores=$3
providers=$4
commands=$5

# Rooms on one level may not include each other.
level() {
  case $1 in
    base) echo 0 ;;
    dep) echo 1 ;;
    model) echo 2 ;;
    net) echo 3 ;;
    creds) echo 4 ;;
    store) echo 5 ;;
    provider) echo 6 ;;
    catalog | snapshot) echo 7 ;;
    record) echo 8 ;;
    core | agent) echo 9 ;;
    cmd) echo 10 ;;
    *) echo none ;;
  esac
}

# What a file may include in <>: the C library and the kernel.
system_header='^(assert|ctype|dirent|dlfcn|endian|errno|fcntl|fnmatch|float|ftw|glob|grp'
system_header="$system_header|inttypes|limits|locale|malloc|math|netdb|poll|pthread|pwd|regex|sched"
system_header="$system_header|semaphore|setjmp|signal|spawn|stdalign|stdarg|stdatomic"
system_header="$system_header|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings"
system_header="$system_header|syslog|termios|threads|time|unistd|utime|wchar"
system_header="$system_header|(sys|linux|netinet|arpa|net|mach)/[a-z0-9_/]+)\.h$|^libproc\.h$"

cd "$root" || exit 1

# file:line:what of every include, with its brackets.
includes() {
  find lib cmd -name '*.[ch]' -exec \
    grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]' /dev/null {} + |
    sed -E 's/^([^:]*):([0-9]*):[^<"]*([<"][^>"]*).*/\1 \2 \3/' | sort
}

room_of() {
  case $1 in
    lib/*/*) r=${1#lib/} ; echo "${r%%/*}" ;;
    cmd/*) echo cmd ;;
  esac
}

downward() {
  includes | while read -r file line what; do
    case $what in \"*) what=${what#\"} ;; *) continue ;; esac
    from=$(room_of "$file")
    to=${what%%/*}
    case $what in
      */*) ;;
      *.inc) continue ;;
      *) echo "$file:$line: \"$what\" names no room" ; continue ;;
    esac
    case $what in
      *.inc) continue ;;
      cmd/*) path=$what ;;
      *) path=lib/$what ;;
    esac
    [ -f "$path" ] || echo "$file:$line: \"$what\" does not exist"
    [ "$from" = "$to" ] && continue
    a=$(level "$from")
    b=$(level "$to")
    if [ "$a" = none ] || [ "$b" = none ]; then
      echo "$file:$line: \"$what\": a room that DESIGN does not know"
    elif [ "$b" -ge "$a" ]; then
      echo "$file:$line: \"$what\": $from may not include $to"
    fi
  done
}

foreign() {
  includes | while read -r file _ what; do
    case $what in \<*) what=${what#<} ;; *) continue ;; esac
    printf '%s\n' "$what" | grep -qE "$system_header" || echo "$what $file"
  done | sort -u
}

foreign_outside() {
  foreign | grep -v ' lib/dep/[^/]*\.c$' |
    sed 's/\(.*\) \(.*\)/\2: <\1> belongs into one file of lib\/dep/'
}

foreign_twice() {
  foreign | cut -d' ' -f1 | uniq -d | while read -r header; do
    echo "<$header> is included by:" \
      "$(foreign | sed -n "s|^$header ||p" | tr '\n' ' ')"
  done
}

# The functions and objects of ours that an object file exports.
exported() {
  nm -g --defined-only "$1" | awk '$2 ~ /^[A-Z]$/ && $3 ~ /^_?gpc_/ {
    sub(/^_/, "", $3); print $3 }'
}

one_symbol() { # OBJECT SYMBOL
  if [ ! -f "$1" ]; then
    echo "$1 is not built"
    return
  fi
  found=$(exported "$1" | tr '\n' ' ')
  [ "$found" = "$2 " ] ||
    echo "$1 exports ${found:-nothing}, expected $2 alone"
}

under() { printf '%s' "$1" | tr -- '-' '_'; }

backends() { # ROOM WORDS
  for word in $2; do
    [ ! -f "lib/$1/$word.h" ] || echo "lib/$1/$word.h: a backend has no header"
    one_symbol "$build/lib/libgpc-$1.a.p/$1_$word.c.o" "gpc_$1_$word"
  done
}

command_objects() {
  for word in $commands; do
    one_symbol "$build/cmd/gpucloud.p/$(under "$word").c.o" \
      "gpc_command_$(under "$word")"
  done
}

ok "includes go downward only" "$(downward)"
ok "foreign headers stay in lib/dep" "$(foreign_outside)"
ok "each foreign header is included by one file" "$(foreign_twice)"
if command -v nm >/dev/null; then
  ok "a store exports its ops alone" "$(backends store "$stores")"
  ok "a provider exports its ops alone" "$(backends provider "$providers")"
  ok "a command exports its record alone" "$(command_objects)"
else
  skip "backends and commands export one symbol" "nm is not here"
fi
finish
