"""Runs in a mount namespace of its own: makes the scratch root, and boots in it, again
after each reboot. SIGTERM shuts down, SIGUSR1 reboots. Says on stdout what happens."""
import os
import signal
import subprocess
import sys
import threading
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
GRACE = 10  # seconds until a system that does not shut down is ended


def mount(*args):
    subprocess.run(["mount", *args], check=True, stdin=subprocess.DEVNULL)


def make_root(folder):
    """An overlay whose upper layer is in memory."""
    top = os.path.join(folder, "top")
    os.makedirs(top, exist_ok=True)
    mount("--make-rprivate", "/")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", top)
    for name in ("upper", "work", "root"):
        os.mkdir(os.path.join(top, name))
    root = os.path.join(top, "root")
    mount("-t", "overlay", "-o", "lowerdir=/,upperdir=%s/upper,workdir=%s/work" % (top, top),
          "overlay", root)
    mount("--rbind", "/dev", root + "/dev")
    for name in ("tmp", "root", "run", "var/log", "var/lib/cloud"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
        mount("-t", "tmpfs", "-o", "mode=%s" % ("1777" if name == "tmp" else "755"), "tmpfs",
              os.path.join(root, name))
    return root


def boot(root, folder, ident):
    """One boot; the status of its first process."""
    with open(os.path.join(HERE, "boot_init.py"), "rb") as script, \
            open(os.path.join(folder, "user-data"), "rb") as data:
        text, user_data = script.read(), data.read()
    boot_id = os.path.join(folder, "top", "boot_id")
    with open(boot_id, "w", encoding="ascii") as out:  # another one with each boot
        out.write("%s\n" % uuid.uuid4())
    reader, writer = os.pipe()
    child = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "sh", "-c",
         'mount -t proc proc "$1/proc" && { [ ! -e "$1/proc/sysrq-trigger" ] || '
         'mount --bind /dev/null "$1/proc/sysrq-trigger"; } && '
         'mount --bind "$5" "$1/proc/sys/kernel/random/boot_id" && '
         'exec chroot "$1" /usr/bin/python3 -B -c "$2" "$3" "$4"',
         "sh", root, text.decode(), ident, str(reader), boot_id],
        stdin=subprocess.DEVNULL, stdout=2, pass_fds=(reader,))
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        out.write(user_data)
    return child


def note_written(folder):
    """What was put on the machine's disk in its life, and what was taken from it; not
    what lies in memory: /tmp, /run, and where the system itself writes at each boot."""
    layer = os.path.join(folder, "top", "upper")
    found = sorted(os.path.relpath(os.path.join(at, name), layer)
                   for at, _, names in os.walk(layer) for name in names)
    with open(os.path.join(folder, "written"), "w", encoding="utf-8",
              errors="surrogateescape") as out:
        out.writelines(name + "\n" for name in found)


def end_with_the_cloud():
    """The stand-in holds the other end of stdin as long as it lives."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main():
    threading.Thread(target=end_with_the_cloud, daemon=True).start()
    folder, ident = sys.argv[1:3]
    asked = []
    child = None

    def stop(number, frame):
        how = signal.SIGKILL if number == signal.SIGALRM else signal.SIGTERM
        if number != signal.SIGALRM:
            asked.append(number)
            signal.alarm(GRACE)
        for pid in children(child.pid) if child else ():
            os.kill(pid, how)

    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM):
        signal.signal(number, stop)
    root = make_root(folder)
    while True:
        os.write(1, b"boot\n")
        child = boot(root, folder, ident)
        status = child.wait()
        child = None
        signal.alarm(0)
        again = status in (-signal.SIGHUP, 128 + signal.SIGHUP)
        if asked:
            again = asked.pop() == signal.SIGUSR1
        if not again:
            note_written(folder)
            os.write(1, b"poweroff\n")
            return


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as source:
        return [int(p) for p in source.read().split()]


main()
