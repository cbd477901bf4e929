#!/bin/sh
# Builds gpucloud and measures it against named peers; prints one line a result.
# Runs for some minutes and needs 14 GiB of disk (with --long: 45 GiB, 9 of them in
# memory).
#   sh tests/bench/run.sh [--long]
set -eu
cd "$(dirname "$0")/../.."
build=$(realpath -m "${GPUCLOUD_TEST_BUILDS:-build-tests}/bench")
[ -e "$build/build.ninja" ] ||
	meson setup "$build" --buildtype release >/dev/null
ninja -C "$build" --quiet cmd/gpucloud tests/bench/pack-driver \
	tests/unit/sign-driver >&2
GPUCLOUD_BIN=$build/cmd/gpucloud
PACK_DRIVER=$build/tests/bench/pack-driver
SIGN_DRIVER=$build/tests/unit/sign-driver
export GPUCLOUD_BIN PACK_DRIVER SIGN_DRIVER
printf '%s, %s cores, %s\n' "$("$GPUCLOUD_BIN" --version | head -n 1)" \
	"$(nproc)" "$(uname -sr)"
for bench in startup submit boot pack trees logs flood sign transfer; do
	printf '\n%s\n' "$bench"
	sh "tests/bench/$bench.sh" "$@"
done
