#!/bin/sh
# Runs the node, by the python that cloud-init itself runs on; ends the machine after it.
export PATH="/usr/sbin:/usr/bin:/sbin:/bin:$PATH"
py=$(sed -n '1s/^#! *\([^ ]*python[^ ]*\).*/\1/p' "$(command -v cloud-init)" 2>/dev/null)
[ -x "$py" ] || py=$(command -v python3) ||
	echo "gpucloud: boot failed: no_python: neither cloud-init's own nor python3"
[ -z "$py" ] || {
	"$py" - <<'PYTHON'
@PYTHON@
PYTHON
} || echo "gpucloud: boot failed: script_failed: $py ended with $?"
sync
poweroff -f || echo o >/proc/sysrq-trigger
