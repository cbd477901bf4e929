#!/bin/sh
# Packing a workspace against `tar | zstd -3 -T0` on the same tree, in turns, in
# the same run, each with a disk that is at rest. What gpucloud has packed is on
# the disk when it says so; what tar wrote is not, so it is timed with a final
# sync as well. Then packing it again unchanged; and memory at the extremes. What is
# timed on our side is the whole of `submit -d`: scan, pack, hash, store, record.
# With --long also one file of 20 GiB.
# shellcheck source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
ROUNDS=${ROUNDS:-5}

# 1 GiB as projects are made of: weights that do not compress, tables and logs
# that do, and many small sources.
make_tree() {
	/usr/bin/python3 - "$T/tree" <<'PY'
import os, random, sys
root, rng = sys.argv[1], random.Random(7)
words = [w.strip() for w in open("/usr/share/dict/words", encoding="utf-8")]
MIB = 1 << 20
def write(path, data):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
def text(size):
    out, n = [], 0
    while n < size:
        line = " ".join(rng.choices(words, k=9)) + "\n"
        out.append(line)
        n += len(line)
    return "".join(out).encode()[:size]
block = text(4 * MIB)
for i in range(6):
    write(f"weights/layer{i}.bin", rng.randbytes(64 * MIB))
for i in range(8):
    write(f"data/table{i}.csv", b"".join(
        block[(k := rng.randrange(MIB)):k + MIB] for _ in range(32)))
for i in range(160):
    k = rng.randrange(2 * MIB)
    half = rng.randbytes(MIB // 2)
    write(f"mixed/{i % 16}/part{i}.npy", half + block[k:k + MIB // 2 + 5000])
for i in range(16000):
    k = rng.randrange(3 * MIB)
    size = int(rng.paretovariate(1.1) * 3000) % 200000
    write(f"src/{i % 97}/{i % 13}/module_{i}.py", block[k:k + size])
PY
}

submit_tree() { # DIR
	measure "$GPUCLOUD_BIN" submit -q -d --name bench --workdir "$1" -- true
}

settle() { gpc wait "$(cat "$T/measured.out")" >/dev/null 2>&1; }

# Below 1 is faster than the peer.
against() { # MS NAME
	result "$2: time against tar | zstd" "$(ratio "$1" "$theirs"), with sync $(
		ratio "$1" "$synced")"
}

against_tar() {
	cat "$T"/tree/*/* >/dev/null 2>&1 || true
	peer="tar -C '$T/tree' -cf - . | zstd -3 -T0 -q -f -o '$T/peer.zst'"
	for _ in $(seq "$ROUNDS"); do
		sync
		measure sh -c "$peer && sync '$T/peer.zst'"
		echo "$ms" >>"$T/synced"
		rm -f "$T/peer.zst"
		sync
		measure sh -c "$peer"
		echo "$ms" >>"$T/theirs"
		echo "$cpu_ms" >>"$T/theirs.cpu"
		peer_bytes=$(stat -c %s "$T/peer.zst")
		fresh_home
		sync
		submit_tree "$T/tree"
		echo "$ms" >>"$T/ours"
		echo "$cpu_ms" >>"$T/ours.cpu"
		ours_bytes=$(du -sb "$XDG_DATA_HOME/gpucloud/store/blobs" | cut -f1)
		submit_kb=$rss_kb
		settle
	done
	ours=$(median <"$T/ours")
	theirs=$(median <"$T/theirs")
	synced=$(median <"$T/synced")
	result "tree" "$(du -sm --apparent-size "$T/tree" | cut -f1) MiB, $(
		find "$T/tree" -type f | wc -l) files, median of $ROUNDS"
	result "tar | zstd -3 -T0" "$theirs ms, with sync $synced ms, $((peer_bytes >> 20)) MiB"
	result "gpucloud submit -d" "$ours ms, $((ours_bytes >> 20)) MiB, $((submit_kb >> 10)) MiB memory"
	against "$ours" "submit"
	result "CPU of submit against tar | zstd" "$(ratio "$(median <"$T/ours.cpu")" \
		"$(median <"$T/theirs.cpu")") ($(median <"$T/ours.cpu") ms, $(
		median <"$T/theirs.cpu") ms)"
}

again_unchanged() {
	submit_tree "$T/tree"
	settle
	result "again, unchanged" "$ms ms"
	strace -f -qq -e trace=openat -o "$T/trace" \
		"$GPUCLOUD_BIN" submit -q -d --name bench --workdir "$T/tree" -- true \
		>"$T/measured.out"
	settle
	result "again, unchanged: files opened for reading" "$(
		grep -v O_DIRECTORY "$T/trace" |
			grep -Ec '(module_|part|layer|table)[0-9]+\.' || true)"
}

many_files() {
	/usr/bin/python3 - "$T/many" <<'PY'
import os, sys
for d in range(400):
    os.makedirs(f"{sys.argv[1]}/d{d}")
    for i in range(500):
        with open(f"{sys.argv[1]}/d{d}/file_{i}.txt", "w") as f:
            f.write(f"{d} {i}\n")
PY
	fresh_home
	submit_tree "$T/many"
	settle
	result "200,000 files" "$ms ms, $((rss_kb >> 10)) MiB memory"
	submit_tree "$T/many"
	settle
	result "200,000 files, unchanged" "$ms ms, $((rss_kb >> 10)) MiB memory"
	rm -rf "$T/many"
}

# One huge file: real bytes with --long, else mostly holes.
huge_file() {
	mkdir "$T/huge"
	/usr/bin/python3 - "$T/huge/model.bin" "${LONG:-0}" <<'PY'
import os, sys
with open(sys.argv[1], "wb") as f:
    f.truncate(20 << 30)
    step = (16 << 20) if sys.argv[2] == "1" else (1 << 30)
    block = os.urandom(16 << 20)
    for at in range(0, 20 << 30, step):
        f.seek(at)
        f.write(at.to_bytes(8, "little") + block[8:])
PY
	fresh_home
	submit_tree "$T/huge"
	settle
	result "one file of 20 GiB ($(du -sm "$T/huge" | cut -f1) MiB on disk)" \
		"$ms ms, $((rss_kb >> 10)) MiB memory"
	rm -rf "$T/huge"
}

make_tree
sleep 3 # a file that changed just now is not trusted to stay
against_tar
again_unchanged
rm -rf "$T/tree"
many_files
huge_file
