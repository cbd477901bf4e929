#!/bin/sh
# Packing and restoring against tar + zstd -3 -T0 at two extremes: 100,000 small
# files, and 4 GiB in ten files that do not compress much. PACK_DRIVER is the
# library alone, since no command restores a workspace; packing with it is what
# `submit` does. Packed data is on the disk on both sides before the clock stops.
# Needs 14 GiB of disk. SMALL and BIG (MiB a file) make the trees smaller.
# shellcheck disable=SC2016 source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
ROUNDS=${ROUNDS:-3}
SMALL=${SMALL:-100000}
BIG=${BIG:-410}

small_files() {
	/usr/bin/python3 - "$T/tree" "$SMALL" <<'PY'
import os, random, sys
root, count, rng = sys.argv[1], int(sys.argv[2]), random.Random(3)
words = [w.strip() for w in open("/usr/share/dict/words", encoding="utf-8")]
text = " ".join(rng.choices(words, k=200000))
for d in range(count // 200):
    os.makedirs(f"{root}/pkg{d % 50}/mod{d}")
    for i in range(200):
        at = rng.randrange(len(text) - 20000)
        with open(f"{root}/pkg{d % 50}/mod{d}/f{i}.py", "w") as f:
            f.write(text[at:at + int(rng.paretovariate(1.2) * 600) % 16000])
PY
}
big_files() {
	/usr/bin/python3 - "$T/tree" "$BIG" <<'PY'
import os, random, sys
root, mib, rng = sys.argv[1], int(sys.argv[2]), random.Random(4)
os.makedirs(root)
half = bytes(1 << 19)
for i in range(10):
    with open(f"{root}/shard{i}.bin", "wb") as f:
        for _ in range(mib):
            f.write(rng.randbytes(1 << 19) + half)
PY
}

add() { echo "$2" >>"$T/$1"; }
settled() { # everything written, and the tree in memory as far as it fits
	sync
	find "$T/tree" -type f -exec cat {} + >/dev/null
}

round() {
	settled
	measure sh -c 'tar -C "$1/tree" -cf - . | zstd -3 -T0 -q -f -o "$1/peer.zst" &&
		sync "$1/peer.zst"' sh "$T"
	add peer.pack "$ms"
	rm -rf "$T/out"
	mkdir "$T/out"
	sync
	measure sh -c 'zstd -d -q -c "$1/peer.zst" | tar -C "$1/out" -xf -' sh "$T"
	add peer.restore "$ms"
	rm -rf "$T/out" "$T/peer.zst" "$T/store"
	settled
	measure "$PACK_DRIVER" pack "$T/tree" "file://$T/store" 2>/dev/null
	add ours.pack "$ms"
	head=$(cat "$T/measured.out")
	mkdir "$T/out"
	sync
	measure "$PACK_DRIVER" restore "file://$T/store" "$head" "$T/out" 2>/dev/null
	add ours.restore "$ms"
	[ "$(find "$T/out" -type f | wc -l)" = "$(find "$T/tree" -type f | wc -l)" ] ||
		result "RESTORED" "another number of files"
	rm -rf "$T/out" "$T/store"
}

of_tree() { # NAME
	for _ in $(seq "$ROUNDS"); do round; done
	for what in pack restore; do
		ours=$(median <"$T/ours.$what")
		theirs=$(median <"$T/peer.$what")
		result "$what, $1" "$(ratio "$ours" "$theirs") times tar and zstd ($ours ms, $theirs ms)"
		rm "$T/ours.$what" "$T/peer.$what"
	done
	rm -rf "$T/tree"
}

small_files
of_tree "$SMALL small files"
big_files
of_tree "10 files of $BIG MiB"
