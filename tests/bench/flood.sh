#!/bin/sh
# The path of a log against tee: a file of 1 GiB (MIB sets it) is printed through
# a job to us, and through tee into a file to /dev/null. Ours also crosses the
# agent and the store and is synced on its way.
# shellcheck disable=SC2016 source=tests/bench/lib.sh
. "$(dirname "$0")/lib.sh"
ROUNDS=${ROUNDS:-3}
MIB=${MIB:-1024}

/usr/bin/python3 - "$T/flood" "$MIB" <<'PY'
import sys
block = b"".join(b"step=%07d loss=0.%05d lr=3.0e-4 tokens/s=123456.7\n" % (i, i % 99991)
                 for i in range(20000))
size = int(sys.argv[2]) << 20
with open(sys.argv[1], "wb") as f:
    while size > 0:
        f.write(block[:size])
        size -= len(block)
PY
for _ in $(seq "$ROUNDS"); do
	sync
	measure sh -c 'cat "$1/flood" | tee "$1/copy" >/dev/null' sh "$T"
	echo "$ms" >>"$T/peer"
	rm -f "$T/copy"
	sync
	measure "$GPUCLOUD_BIN" submit -q --name flood -- cat "$T/flood"
	echo "$ms" >>"$T/ours"
	cmp -s "$T/measured.out" "$T/flood" || result "FLOOD" "other bytes"
	gpc release --all -y >/dev/null 2>&1 || true
	rm -f "$T/measured.out"
	fresh_home
done
ours=$(median <"$T/ours")
theirs=$(median <"$T/peer")
result "log of $MIB MiB through a job" "$(ratio "$ours" "$theirs") times cat | tee ($ours ms, $theirs ms), $(
	awk -v m="$MIB" -v t="$ours" 'BEGIN { printf "%.0f", m * 1000 / t }') MiB/s"
