#!/bin/sh
# What a hostile or unlucky user does: odd specs, odd files, a spoiled store.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# --- why a job failed is said wherever its end is ------------------------------
printf 'name: big\nrun: echo never\nenvs: {BIG: %0200000d}\n' 1 >big.yaml
run gpc submit -q big.yaml
like "$err" "environment of [0-9]+ bytes" "the end of a job says why, even with -q"
like "$(gpc status)" "spec_invalid: .*environment" "so does its line in status"
like "$(gpc status @)" "environment of [0-9]+ bytes" "and its page"

finish
