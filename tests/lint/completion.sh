#!/bin/sh
# Completion: every command and option is offered, values are, and the scripts
# of the three shells pass them on.
#   completion.sh SOURCE-ROOT GPUCLOUD COMMAND...
set -u
# shellcheck source=tests/lint/tap.sh
. "$(dirname "$0")/tap.sh"
root=$1
gpucloud=$2
shift 2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_CONFIG_HOME="$tmp/config" XDG_DATA_HOME="$tmp/data"

offered() { "$gpucloud" __complete "$@" 2>&1 | cut -f1; }

same() { # EXPECTED GOT
  [ "$1" = "$2" ] || printf 'expected: %s\ngot: %s\n' "$1" "$2"
}

options_offered() { # COMMAND
  "$gpucloud" "$1" --help |
    sed -nE 's/^  (-[A-Za-z],|   ) --(\[no-\])?([a-z0-9-]+).*/--\3/p' |
    sort -u >"$tmp/help"
  offered "$1" -- | sort -u >"$tmp/offered"
  comm -23 "$tmp/help" "$tmp/offered" | sed 's/$/ is not offered/'
}

# What bash would show for a line that ends at the cursor.
in_bash() {
  bash -c '
    . "$1"
    PATH=${2%/*}:$PATH
    COMP_LINE=$3
    # as bash splits: = is a word of its own
    read -ra COMP_WORDS <<<"${COMP_LINE//=/ = }"
    case $COMP_LINE in *" " | *=) COMP_WORDS+=("") ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE}
    _gpucloud gpucloud "${COMP_WORDS[COMP_CWORD]#=}"
    printf "%s\n" "${COMPREPLY[@]}"' - \
    "$root/completions/gpucloud.bash" "$gpucloud" "$1"
}

parses() { # SHELL FILE
  "$1" -n "$root/completions/$2" 2>&1
}

ok "commands are offered" "$(same "$(printf '%s\n' "$@" | sort)" "$(offered '' | sort)")"
for command in "$@"; do
  ok "options of $command are offered" "$(options_offered "$command")"
done
ok "words of an option" "$(same 'json' "$(offered version -o j)")"
ok "words after =" "$(same '--output=json' "$(offered version --output=j)")"
ok "help completes commands" "$(same 'version' "$(offered help vers)")"
ok "help spec completes fields" "$(same 'limits.power' "$(offered help spec limits.po)")"
ok "folders are left to the shell" "$(same ':dir' "$(offered --store '')")"
mkdir -p "$tmp/config/gpucloud"
echo 'no_such_key: 1' >"$tmp/config/gpucloud/config.yaml"
ok "a broken configuration says nothing" "$(offered version '')"
ok "nor where jobs are asked for" "$(offered logs '')"
if command -v bash >/dev/null; then
  ok "bash: a command" "$(same 'version' "$(in_bash 'gpucloud versi')")"
  ok "bash: an option" "$(same '--output' "$(in_bash 'gpucloud version --ou')")"
  ok "bash: a value" "$(same 'json' "$(in_bash 'gpucloud version -o j')")"
  ok "bash: a value after =" "$(same 'json' "$(in_bash 'gpucloud version --output=j')")"
fi
command -v zsh >/dev/null && ok "zsh reads its script" "$(parses zsh _gpucloud)"
command -v fish >/dev/null && ok "fish reads its script" "$(parses fish gpucloud.fish)"
finish
