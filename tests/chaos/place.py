"""A place for jobs: a stand-in of the clouds of its own, a home, and the program."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("GPUCLOUD_BIN", ROOT + "/build/cmd/gpucloud")
SLOW = 4 if os.environ.get("GPUCLOUD_TEST_SANITIZED") else 1


class Place:
    def __init__(self, top, name):
        self.folder = folder = os.path.join(top, name)
        os.makedirs(folder)
        self.fake = os.path.join(folder, "fake")
        subprocess.run(["sh", ROOT + "/tests/servers/fakecloud.sh", "start", self.fake,
                        "--set", "ec2_boot=true"], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        with open(self.fake + "/env", encoding="utf-8") as source:
            told = dict(line.rstrip("\n").split("=", 1) for line in source)
        self.told = {name: value.strip("'") for name, value in told.items()}
        self.env = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        self.env.update(LC_ALL="C", AWS_EC2_METADATA_DISABLED="true", AWS_REGION="us-east-1",
                        AWS_SHARED_CREDENTIALS_FILE=folder + "/credentials",
                        GPUCLOUD_STORE="s3://bucket/chaos")
        for name in ("AUTO_SCALING", "EC2", "SSM", "S3"):
            self.env["AWS_ENDPOINT_URL_" + name] = self.told["FAKE_" + name]
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
                     "XDG_STATE_HOME"):
            self.env[name] = os.path.join(top if name == "XDG_CACHE_HOME" else folder,
                                          name.lower())
            os.makedirs(self.env[name], exist_ok=True)
        self.sign_in(self.told["AWS_ACCESS_KEY_ID"], self.told["AWS_SECRET_ACCESS_KEY"])

    def close(self, keep):
        for pid in self.processes(""):
            kill(pid)
        subprocess.run(["sh", ROOT + "/tests/servers/fakecloud.sh", "stop", self.fake],
                       check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    # -- the cloud

    def control(self, path, value=None, method=None):
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(
            "%s/_control/%s" % (self.told["FAKE_CONTROL"], path), body,
            method=method or ("POST" if body else "GET"))
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def machines(self, job):
        """All that were ever bought for a job."""
        found = self.control("machines")["machines"]
        return [m for m in found if m["tags"].get("gpucloud-job") == job]

    def live(self, job=None):
        found = self.control("machines")["machines"]
        return [m for m in found if m["state"] != "terminated" and
                (job is None or m["tags"].get("gpucloud-job") == job)]

    def left(self):
        """What would be paid for, or be in somebody's way, though no job is there."""
        told = self.control("machines")
        return [m["id"] for m in told["machines"] if m["state"] != "terminated"] + \
            told["groups"]

    def objects(self, prefix):
        """Objects of the store, with their sums."""
        found = self.control("objects?service=s3&prefix=chaos/" + prefix)["objects"]
        return {o["key"]: o["sha256"] for o in found}

    def sign_in(self, key, secret, token=None):
        text = "[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n" % (key, secret)
        if token:
            text += "aws_session_token=%s\n" % token
        with open(self.env["AWS_SHARED_CREDENTIALS_FILE"] + ".new", "w",
                  encoding="ascii") as out:
            out.write(text)
        os.rename(out.name, self.env["AWS_SHARED_CREDENTIALS_FILE"])

    # -- the program

    def start(self, *words, log=None, **env):
        """In the background; its stderr goes to the log."""
        with open(os.path.join(self.folder, log or "log"), "ab") as out:
            return subprocess.Popen([PROGRAM, *words], env=dict(self.env, **env),
                                    cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=out, start_new_session=True)

    def run(self, *words, limit=60):
        """Its exit status, stdout and stderr."""
        try:
            done = subprocess.run([PROGRAM, *words], env=self.env, cwd=self.folder,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=limit * SLOW, check=False)
        except subprocess.TimeoutExpired:
            return -1, "", "no end within %d s" % (limit * SLOW)
        return (done.returncode, done.stdout.decode(errors="replace"),
                done.stderr.decode(errors="replace"))

    def processes(self, word):
        """Ids of processes of ours, of those whose command has the word."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as source:
                    ours = (self.folder + "/").encode() in source.read()
                with open(path[:-len("environ")] + "cmdline", "rb") as source:
                    command = source.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if ours and (not word or word in command[1:2]):
                found.append(int(path.split("/")[2]))
        return [pid for pid in found if pid != os.getpid()]


def kill(pid):
    send(pid, signal.SIGKILL)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def wait_for(seconds, look):
    """What look() says once that is true, else what it says in the end."""
    end = time.monotonic() + seconds * SLOW
    while True:
        found = look()
        if found or time.monotonic() >= end:
            return found
        time.sleep(0.1)
