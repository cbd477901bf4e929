#!/bin/sh
# Functions that nobody may call, and what lib/ may not do: talk to stdio or
# end the process.
#   banned.sh SOURCE-ROOT
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"
calls_awk=$(cd "$(dirname "$0")" && pwd)/calls.awk

# Exceptions, each with its reason: FILE FUNCTION REASON
exceptions='
lib/base/mem.c calloc        it is the allocator
lib/base/mem.c malloc        it is the allocator
lib/base/mem.c realloc       it is the allocator
lib/base/parse.c strtod      it is the parser of numbers
lib/dep/json_print.c strtod  checks that a printed number reads back the same
'

# No bounds, no error, or hidden state: base/parse, base/buf, base/mem and
# gpc_fail_sys have what is needed.
everywhere='strcpy strcat strncpy strncat stpcpy sprintf vsprintf strtok strtok_r gets
  atoi atol atoll atof strtol strtoll strtoul strtoull strtod sscanf vsscanf scanf fscanf
  alloca malloc calloc realloc reallocarray strdup strndup asprintf vasprintf
  system popen tmpnam tempnam mktemp gmtime localtime ctime asctime strerror
  setenv putenv unsetenv sleep usleep rand srand random'

in_lib='printf fprintf vprintf vfprintf puts fputs putchar putc fputc perror psignal
  getchar fgets fopen exit quick_exit err errx warn warnx syslog'

cd "$1" || exit 1

uses() { # CALLS NAMES FOLDER...
  calls=$1
  names=$2
  shift 2
  find "$@" -name '*.[ch]' -exec awk -v calls="$calls" -v names="$names" \
    -f "$calls_awk" {} + | sort -t: -k1,1 -k2,2n
}

not_excepted() {
  while read -r place word; do
    printf '%s\n' "$exceptions" | grep -q "^${place%%:*} $word " ||
      echo "$place $word"
  done
}

# A table that starts out filled is fine; what handlers write is one flag.
flags() {
  grep -rnE '^static .*(sig_atomic_t|struct gpc_cancel)[^*(]*;' lib cmd |
    grep -v '^cmd/interrupt\.c:'
}

everywhere=$(echo "$everywhere" | tr '\n' ' ')
in_lib=$(echo "$in_lib" | tr '\n' ' ')
ok "no banned function" "$(uses "$everywhere" '' lib cmd | not_excepted)"
ok "lib does not use stdio and does not exit" \
  "$(uses "$in_lib" 'stdin stdout stderr' lib | not_excepted)"
ok "signal handlers write one flag, in cmd/interrupt.c" "$(flags)"
finish
