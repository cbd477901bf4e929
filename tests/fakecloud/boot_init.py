"""The first process of a boot, in the scratch root: what cloud-init does with user data.

Boothooks run on every boot, before anything else; scripts once in the life of the
instance, at the end. Then it reaps, as an init does. SIGTERM shuts down.
"""
import email
import gzip
import os
import signal
import subprocess
import sys
import time

CLOUD = "/var/lib/cloud/instance"
GRACE = 5


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def parts(data):
    """(type, bytes) of each part, as cloud-init tells their types."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    head = data.lstrip()[:64].lower()
    if head.startswith((b"content-type:", b"mime-version:", b"from nobody")):
        for part in email.message_from_bytes(data).walk():
            if not part.is_multipart():
                yield kind(part.get_content_type(), part.get_payload(decode=True))
    elif data:
        yield kind("text/plain", data)


def kind(told, body):
    for start, name in ((b"#!", "text/x-shellscript"), (b"#cloud-boothook",
                        "text/cloud-boothook"), (b"#cloud-config", "text/cloud-config")):
        if told in ("text/plain", "text/x-not-multipart") and body.startswith(start):
            told = name
    return told, body


def store(folder, number, body):
    os.makedirs(folder, exist_ok=True)
    path = "%s/part-%03d" % (folder, number)
    with open(path, "wb") as out:
        out.write(body)
    os.chmod(path, 0o700)
    return path


def run(path, ident):
    """Its output goes to the console; what it leaves in the background runs on."""
    code = subprocess.call([path], env=dict(os.environ, INSTANCE_ID=ident), cwd="/",
                           stdin=subprocess.DEVNULL, stdout=2)
    if code:
        say("cloud-init: %s failed: %d" % (path, code))


def power_off(number, frame):
    """As a system does that is told to shut down."""
    for pid in others():
        kill(pid, signal.SIGTERM)
    end = time.monotonic() + GRACE
    while others() and time.monotonic() < end:
        time.sleep(0.05)
    os._exit(0)  # the rest of the namespace dies with its first process


def others():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            try:
                with open("/proc/%s/stat" % name, encoding="latin-1") as source:
                    if source.read().rpartition(")")[2].split()[0] not in "ZX":
                        found.append(int(name))
            except OSError:
                pass
    return found


def kill(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass


def main():
    ident, descriptor = sys.argv[1], int(sys.argv[2])
    signal.signal(signal.SIGTERM, power_off)
    with os.fdopen(descriptor, "rb") as source:
        data = source.read()
    found = list(enumerate(parts(data), 1))
    for number, (told, body) in found:
        if told == "text/cloud-boothook":
            lines = body.split(b"\n", 1)
            if lines[0].startswith(b"#cloud-boothook"):
                body = lines[-1].lstrip(b"\n")
            run(store(CLOUD + "/boothooks", number, body), ident)
    for number, (told, body) in found:
        done = "%s/sem/script-%03d" % (CLOUD, number)
        if told == "text/x-shellscript" and not os.path.exists(done):
            os.makedirs(CLOUD + "/sem", exist_ok=True)
            with open(done, "wb"):  # a reboot in the middle does not run it again
                pass
            run(store(CLOUD + "/scripts", number, body), ident)
    say("cloud-init: finished")
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.pause()


main()
