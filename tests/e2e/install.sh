#!/bin/sh
# `meson install` gives the program, every manual page and the completions.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

run env DESTDIR="$T/root" meson install --no-rebuild -C \
	"$(dirname "$(dirname "$GPUCLOUD_BIN")")"
is "$rc" 0 "meson install" || note "$err"
installed=$(find "$T/root" -type f -o -type l)
for page in "$ROOT"/man/*.scd; do
	name=$(basename "$page" .scd)
	like "$installed" "/man/man${name##*.}/$name\$" "$name is installed"
done
for file in bash-completion/completions/gpucloud zsh/site-functions/_gpucloud \
	fish/vendor_completions.d/gpucloud.fish; do
	like "$installed" "/$file\$" "$file is installed"
done
binary=$(printf '%s\n' "$installed" | grep '/bin/gpucloud$')
run "$binary" version
is "$rc" 0 "the installed program runs"
run "$binary" submit -- echo installed
is "$out" installed "and runs a job, with nothing but itself"
finish
