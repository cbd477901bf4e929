import base64, datetime, hashlib, hmac, json, os, subprocess, tarfile, time
import urllib.error, urllib.parse, urllib.request

C = json.loads(base64.b64decode("@CONFIG@").decode())
TOP = "/var/lib/gpucloud"
IMDS = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254")
# The metadata service is never behind a proxy; the store may be.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failed(Exception):
    pass


def patient(what, seconds, work):
    """Tries until it works; Failed at once when it says that it never will."""
    end = time.monotonic() + seconds
    pause = 0.2
    while True:
        try:
            return work()
        except Failed:
            raise
        except Exception as why:
            if time.monotonic() > end:
                raise Failed("%s: %s" % (what, why))
        time.sleep(pause)
        pause = min(pause * 2, 5)


def metadata():
    def ask(method, path, headers):
        request = urllib.request.Request(IMDS.rstrip("/") + "/latest/" + path,
                                         headers=headers, method=method)
        return direct.open(request, timeout=5).read().decode()

    token = ask("PUT", "api/token", {"x-aws-ec2-metadata-token-ttl-seconds": "21600"})
    headers = {"x-aws-ec2-metadata-token": token}
    get = lambda path: ask("GET", "meta-data/" + path, headers)
    role = get("iam/security-credentials/").split()[0]
    keys = json.loads(get("iam/security-credentials/" + role))
    if "AccessKeyId" not in keys:
        raise OSError("no keys yet")
    return get("instance-id"), get("placement/region"), keys


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signed(url, region, keys):
    """The headers of a GET of S3, by Signature Version 4."""
    parts = urllib.parse.urlsplit(url)
    stamp = datetime.datetime.utcnow().strftime("%Y%m%dT%H%M%SZ")
    empty = hashlib.sha256(b"").hexdigest()
    headers = {"host": parts.netloc, "x-amz-content-sha256": empty, "x-amz-date": stamp}
    if keys.get("Token"):
        headers["x-amz-security-token"] = keys["Token"]
    names = ";".join(sorted(headers))
    lines = "".join("%s:%s\n" % (n, headers[n]) for n in sorted(headers))
    request = "\n".join(["GET", parts.path, parts.query, lines, names, empty])
    scope = "/".join([stamp[:8], region, "s3", "aws4_request"])
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                      hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + keys["SecretAccessKey"]).encode()
    for word in scope.split("/"):
        key = mac(key, word)
    headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, " \
        "Signature=%s" % (keys["AccessKeyId"], scope, names, mac(key, text).hex())
    return headers


def fetch(url, region, keys, path):
    request = urllib.request.Request(url, headers=signed(url, region, keys))
    try:
        reply = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as refused:
        said = refused.read(500).decode("utf-8", "replace")
        if refused.code in (301, 400, 404):
            raise Failed("no_bundle: %d %s" % (refused.code, said))
        raise OSError("%d %s" % (refused.code, said))
    total = hashlib.sha256()
    with open(path, "wb") as out:
        for chunk in iter(lambda: reply.read(1 << 20), b""):
            total.update(chunk)
            out.write(chunk)
    if total.hexdigest() != C["sha256"]:
        raise OSError("bad_checksum: the bundle is not what was uploaded")


def run():
    ident, region, keys = patient("no_metadata", 120, metadata)
    folder = os.path.join(TOP, "node")
    os.makedirs(folder, 0o700, exist_ok=True)
    archive = os.path.join(TOP, "bundle.tar.gz")
    patient("no_store", 300, lambda: fetch(C["url"], C["region"], metadata()[2], archive))
    with tarfile.open(archive) as packed:
        packed.extractall(os.path.join(TOP, "bundle"))
    os.unlink(archive)
    node = C["node"]
    with open("/proc/sys/kernel/random/boot_id") as source:
        node["boot"] = source.read().strip()
    node["id"] = "%s/%s" % (region, ident)
    node["created_ms"] = int(time.time() * 1000)
    node["created_boot_ms"] = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)
    with open(os.path.join(folder, "node.json"), "w") as out:
        json.dump(node, out)
    print("gpucloud: node %s starts" % node["id"], flush=True)
    program = os.path.join(TOP, "bundle", "gpucloud")
    env = dict(os.environ, HOME="/root", **C["env"])
    code = subprocess.call([program, "agent", "--launch", folder], env=env)
    print("gpucloud: node %s ends (%d)" % (node["id"], code), flush=True)


try:
    run()
except Exception as why:
    print("gpucloud: boot failed: %s" % why, flush=True)
