#cloud-boothook
#!/bin/sh
# Before all else, on every boot: this machine ends at its time whatever happens, and
# it does not start twice.
off() { sync; poweroff -f || echo o >/proc/sysrq-trigger; }
mark=/var/lib/gpucloud/booted
[ ! -e "$mark" ] || { echo "gpucloud: rebooted: this machine ends"; off; }
mkdir -p /var/lib/gpucloud && : >"$mark"
left=@LIFE_S@
rest=$((@EXPIRES_S@ - $(date +%s)))
[ "$rest" -ge "$left" ] || left=$rest
[ "$left" -gt 0 ] || left=0
(
	trap '' HUP INT TERM
	exec </dev/null >/dev/null 2>&1
	sleep "$left"
	off
) &
