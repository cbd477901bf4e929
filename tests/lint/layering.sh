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

# What a file may include in <>: the C library and the kernel.
system_header='^(assert|ctype|dirent|dlfcn|elf|endian|errno|fcntl|fnmatch|float|ftw|glob|grp'
system_header="$system_header|inttypes|limits|link|locale|malloc|math|netdb|poll|pthread|pwd"
system_header="$system_header|regex|sched|semaphore|setjmp|signal|spawn|stdalign|stdarg"
system_header="$system_header|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn"
system_header="$system_header|string|strings|syslog|termios|threads|time|unistd|utime|wchar"
system_header="$system_header|(sys|linux|netinet|arpa|net|mach)/[a-z0-9_/]+|libproc)[.]h$"

# State that outlives a call, each with its reason: FILE NAME REASON
state='
cmd/interrupt.c token          what signal handlers write
lib/base/crc.c folds        computed once, under pthread_once
lib/base/crc.c once         the same
lib/base/crc.c tables       the same
lib/dep/archive.c dl        a library that is opened once, under its lock
lib/dep/archive.c lib       its functions
lib/dep/crypto.c dl         the same
lib/dep/crypto.c lib        the same
lib/dep/http.c dl           the same
lib/dep/http.c lib          the same
lib/dep/crypto_rsa.c dl     the same
lib/dep/crypto_rsa.c lib    the same
lib/dep/xml.c dl            the same
lib/dep/xml.c lib           the same
lib/store/mem.c names       mem:// lives as long as the process, under a lock
'

cd "$root" || exit 1

# "FILE LINE <what" or "FILE LINE "what" of every include.
includes() {
  find lib cmd -name '*.[ch]' -exec \
    grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]' /dev/null {} + |
    sed -E 's/^([^:]*):([0-9]*):[^<"]*([<"][^>"]*).*/\1 \2 \3/' | sort
}

# Rooms on one level may not include each other.
upward() {
  includes | awk '
    BEGIN {
      split("base 0 dep 1 model 2 net 3 creds 4 catalog 5 store 5 provider 6 " \
        "snapshot 7 record 8 transfer 8 core 9 agent 9 cmd 10", w, " ")
      for (i = 1; i in w; i += 2) level[w[i]] = w[i + 1]
    }
    $3 !~ /^"/ || $3 ~ /\.inc$/ { next }
    {
      what = substr($3, 2)
      split($1, part, "/")
      from = part[1] == "lib" ? part[2] : part[1]
      to = what
      sub(/\/.*/, "", to)
      place = $1 ":" $2 ": \"" what "\""
      if (what !~ /\//) print place " names no room"
      else if (from == to) next
      else if (!(from in level) || !(to in level)) print place ": unknown room"
      else if (level[to] >= level[from]) print place ": " from " may not include " to
    }'
}

missing() {
  includes | sed -nE 's/^.* "([^ ]*\.h)$/\1/p' | sort -u | while read -r what; do
    case $what in cmd/*) path=$what ;; *) path=lib/$what ;; esac
    [ -f "$path" ] || echo "\"$what\" is included, but does not exist"
  done
}

# "HEADER FILE" of what is neither ours nor the C library's.
foreign() {
  includes | awk -v system_header="$system_header" '
    $3 ~ /^</ && substr($3, 2) !~ system_header { print substr($3, 2), $1 }' |
    sort -u
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

# Objects that are neither constant nor local.
globals() {
  find "$build/lib" "$build/cmd" -name '*.c.o' | sort | while read -r object; do
    file=${object#"$build"/}
    file=$(echo "$file" | sed -E 's|^lib/libgpc-[a-z]*\.a\.p/([a-z]*)_|lib/\1/|
      s|^cmd/[a-z-]*(\.a)?\.p/|cmd/|; s|\.o$||')
    objdump -t "$object" | awk '/ O [.](data|bss)/ && !/[.]data[.]rel[.]ro/ &&
      $NF !~ /^_?_?(asan|odr|ubsan)/ { sub(/[.][0-9]+$/, "", $NF); print $NF }' |
      while read -r name; do
        printf '%s\n' "$state" | grep -q "^$file $name " || echo "$file: $name"
      done
  done
}

ok "includes go downward only" "$(upward)"
ok "what is included exists" "$(missing)"
ok "foreign headers stay in lib/dep" "$(foreign_outside)"
ok "each foreign header is included by one file" "$(foreign_twice)"
if command -v nm >/dev/null; then
  ok "a store exports its ops alone" "$(backends store "$stores")"
  ok "a provider exports its ops alone" "$(backends provider "$providers")"
  ok "a command exports its record alone" "$(command_objects)"
else
  skip "backends and commands export one symbol" "nm is not here"
fi
# Sanitizers add objects of their own.
if [ -z "${GPUCLOUD_TEST_SANITIZED:-}" ]; then
  if command -v objdump >/dev/null; then
    ok "no mutable globals" "$(globals)"
  else
    skip "no mutable globals" "objdump is not here"
  fi
fi
finish
