"""Proves the stand-in against clients that are not ours, and against vectors.

    /usr/bin/python3 -B tests/fakecloud/selftest.py [PATTERN]

Prints TAP. What botocore (python3-boto3) is needed for is skipped without it.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
for name in list(os.environ):  # what would lead clients elsewhere
    if name.startswith("AWS_") or name.lower().endswith("_proxy"):
        del os.environ[name]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"


class Skip(Exception):
    pass


class Cloud:
    """A running stand-in."""

    def __init__(self, *options, folder=None):
        self.folder = tempfile.mkdtemp(prefix="gpucloud-fakecloud.", dir=folder)
        ready = os.path.join(self.folder, "ready.json")
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-m", "fakecloud", "--dir", self.folder + "/data",
             "--ready", ready, "--until-eof", *options], cwd=TESTS, stdin=subprocess.PIPE)
        end = time.monotonic() + 60
        while not os.path.exists(ready):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the stand-in does not start")
            time.sleep(0.02)
        with open(ready, encoding="utf-8") as source:
            self.ready = json.load(source)
        self.http, self.config = self.ready["http"], self.ready["config"]

    def control(self, name, value=None, method=None):
        body = None if value is None else json.dumps(value).encode()
        method = method or ("GET" if body is None else "POST")
        request = urllib.request.Request("%s/_control/%s" % (self.http["control"], name),
                                         body, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def fault(self, do, **more):
        self.control("faults", dict(more, do=do))

    def set(self, **settings):
        self.control("settings", settings)

    def objects(self):
        found = self.control("objects")
        return {o["key"]: o for o in found["objects"]}

    def stop(self):
        self.process.stdin.close()
        code = self.process.wait(30)
        left = [f for f in os.listdir(self.folder + "/data")]
        shutil.rmtree(self.folder)
        return code, left


def run(pattern):
    import check_ec2
    import check_google
    import check_iam
    import check_identity
    import check_rights
    import check_s3
    import check_stores
    import check_tls
    import check_transfers
    import check_vectors
    import check_wire
    modules = (check_vectors, check_s3, check_identity, check_google, check_ec2, check_iam,
               check_rights, check_stores, check_transfers, check_tls, check_wire)
    checks = [(m, n) for m in modules for n in vars(m)
              if n.startswith("test_") and pattern in n]
    print("1..%d" % (len(checks) + 1), flush=True)
    cloud, bad = Cloud(), 0
    for number, (module, name) in enumerate(checks, 1):
        title = "%d - %s" % (number, name[5:].replace("_", " "))
        try:
            cloud.control("reset", {})
            getattr(module, name)(cloud)
            print("ok " + title, flush=True)
        except Skip as why:
            print("ok %s # SKIP %s" % (title, why), flush=True)
        except Exception:  # whatever went wrong, the others are still told
            bad += 1
            print("not ok " + title)
            print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
    code, left = cloud.stop()
    good = code == 0 and not left
    print("%s %d - the stand-in ends and leaves no file" %
          ("ok" if good else "not ok", len(checks) + 1))
    return bad or not good


if __name__ == "__main__":
    sys.modules["selftest"] = sys.modules["__main__"]
    sys.exit(bool(run("".join(sys.argv[1:2]))))
