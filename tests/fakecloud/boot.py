"""Boots a machine: its user data is run, as cloud-init runs it, by real processes.

The machine is a process that holds a mount namespace with a scratch root: this
system's files below an overlay in memory, so that nothing that is written stays. Each
boot is a process namespace of its own; reboot(2) in there ends it as it ends a machine.
Needs root and Linux; `possible()` tells.
"""
import os
import shutil
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
CONSOLE = 65536  # bytes of it that are shown


def possible():
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or \
            shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def top(folder):
    """Where machines have what outlives their boots."""
    return os.path.join(folder, "machines")


class Boot:
    def __init__(self, machine, book):
        self.machine, self.book = machine, book
        self.folder = os.path.join(top(book.world.folder), machine.id)
        self.process = None
        self.lock = threading.Lock()
        self.stopped = False
        self.up = threading.Event()

    def begin(self):
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "user-data"), "wb") as out:
            out.write(self.machine.asked.user_data)
        self.run()

    def run(self):
        """Starts the holder; what it says is what became of the machine."""
        with self.lock:
            if self.stopped:
                return
            self.process = subprocess.Popen(
                ["unshare", "--mount", sys.executable, "-B",
                 os.path.join(HERE, "boot_holder.py"), self.folder, self.machine.id],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=open(self.console(), "ab"), env=self.environment(),
                start_new_session=True, cwd="/")
        threading.Thread(target=self.follow, daemon=True).start()

    def console(self):
        return os.path.join(self.folder, "console")

    def environment(self):
        found = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "LANG": "C.UTF-8"}
        if self.machine.imds:
            found["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = self.machine.imds.url
        for name, url in self.book.world.urls.items():
            found["AWS_ENDPOINT_URL_" + name.upper()] = url
        found.update(self.book.world.config["ec2"].get("environment", {}))
        return found

    def follow(self):
        process = self.process
        for line in process.stdout:
            word = line.decode().strip()
            if word == "boot":
                self.machine.boots += 1
                self.up.set()
            elif word == "poweroff" and not self.stopped:
                self.book.powered_off(self.machine)
        process.wait()

    def text(self):
        """What the machine wrote to its console."""
        try:
            with open(self.console(), "rb") as source:
                source.seek(max(0, os.path.getsize(self.console()) - CONSOLE))
                return source.read()
        except OSError:
            return b""

    def written(self):
        """Files that its life left on its disk; None while it runs."""
        try:
            with open(os.path.join(self.folder, "written"), encoding="utf-8") as source:
                return source.read().splitlines()
        except OSError:
            return None

    def signal(self, number):
        with self.lock:
            if not self.process or self.process.poll() is not None:
                return
            if number == signal.SIGKILL:  # and with it the first process of its system
                os.killpg(self.process.pid, number)
            else:
                os.kill(self.process.pid, number)

    def reboot(self):
        self.up.wait(60)  # before that nobody would hear it, and die of it
        self.signal(signal.SIGUSR1)

    def stop(self, sudden):
        """A shutdown of the system, or the plug is pulled."""
        self.stopped = True
        self.signal(signal.SIGKILL if sudden else signal.SIGTERM)

    def wait(self):
        if self.process:
            self.process.wait()
