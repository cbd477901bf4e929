# Sourced by the lint scripts: results as TAP lines.
# shellcheck shell=sh

tap_n=0
tap_bad=0

# ok NAME [PROBLEMS]: passes when PROBLEMS is empty, else shows them.
ok() {
  tap_n=$((tap_n + 1))
  if [ -z "${2:-}" ]; then
    echo "ok $tap_n - $1"
    return
  fi
  tap_bad=$((tap_bad + 1))
  echo "not ok $tap_n - $1"
  printf '%s\n' "$2" | sed 's/^/# /'
}

skip() { # NAME WHY
  tap_n=$((tap_n + 1))
  echo "ok $tap_n - $1 # SKIP $2"
}

finish() {
  echo "1..$tap_n"
  [ "$tap_bad" -eq 0 ]
}
