#!/bin/sh
# Small jobs on the stand-in's EC2, each with a fault or two at a moment that its seed
# chooses; then it must have ended as if nothing had been. TAP.
#   sh tests/chaos/run.sh [--seeds LIST] [-j N] [--keep]
# GPUCLOUD_BIN is the program. A failure names its seed, which repeats the same faults.
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
python=/usr/bin/python3
[ -x "$python" ] || python=python3
GPUCLOUD_BIN=$(realpath "${GPUCLOUD_BIN:-$ROOT/build/cmd/gpucloud}")
export GPUCLOUD_BIN
exec "$python" -B "$ROOT/tests/chaos/run.py" "$@"
