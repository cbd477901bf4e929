import base64, errno, hashlib, hmac, io, json, os, re, ssl, subprocess, tarfile, time
import urllib.error, urllib.parse, urllib.request

C = json.loads(base64.b64decode("@CONFIG@").decode())
TOP = "/var/lib/gpucloud"
IMDS = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254")
# For tests: the times below, in these seconds.
SECOND = float(os.environ.get("GPC_BOOT_SECOND", "1"))
# The metadata service is never behind a proxy; the store may be.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failed(Exception):
    """By a word of gpucloud-aws(7); for so many seconds it may still come right."""

    def __init__(self, word, why, wait=0):
        Exception.__init__(self, "%s: %s" % (word, " ".join(str(why).split())))
        self.wait = wait


def patient(word, seconds, work):
    """Tries until it works. A failure without a name is this word's."""
    begin = time.monotonic()
    pause = 0.1
    while True:
        try:
            return work()
        except Failed as found:
            failed = found
        except OSError as found:
            failed = named(found) or Failed(word, found, seconds)
        if time.monotonic() - begin >= failed.wait * SECOND:
            raise failed
        time.sleep(pause)
        pause = min(pause * 2, 5)


def named(found):
    inner = getattr(found, "reason", found)
    if isinstance(inner, ssl.SSLError) and "CERTIFICATE_VERIFY" in str(inner):
        return Failed("bad_certificate", inner)
    if found.errno in (errno.ENOSPC, errno.EDQUOT):
        return Failed("no_space", found)
    return None


def metadata():
    def ask(method, path, headers):
        request = urllib.request.Request(IMDS.rstrip("/") + "/latest/" + path,
                                         headers=headers, method=method)
        try:
            return direct.open(request, timeout=5).read().decode()
        except urllib.error.HTTPError as refused:
            if refused.code == 404 and "/iam/" in path:
                raise Failed("no_profile", "no role in the metadata", 30)
            raise

    token = ask("PUT", "api/token", {"x-aws-ec2-metadata-token-ttl-seconds": "21600"})
    headers = {"x-aws-ec2-metadata-token": token}
    get = lambda path: ask("GET", "meta-data/" + path, headers)
    role = (get("iam/security-credentials/").split() or [""])[0]
    keys = json.loads(get("iam/security-credentials/" + role)) if role else {}
    if "AccessKeyId" not in keys:
        raise Failed("no_profile", keys.get("Message") or "no keys in the metadata", 60)
    return get("instance-id"), get("placement/region"), keys


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signed(url, region, keys):
    """The headers of a GET of S3, by Signature Version 4."""
    parts = urllib.parse.urlsplit(url)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
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


def refusal(refused):
    """What S3 says no with. Rights that were given a moment ago are not seen yet."""
    said = refused.read(4096).decode("utf-8", "replace")
    code = (re.findall("<Code>([^<]*)", said) or [""])[0]
    why = "%d %s" % (refused.code, code)
    if code == "RequestTimeTooSkewed":
        return Failed("bad_clock", why, 60)
    if code == "NoSuchBucket":
        return Failed("no_bucket", why, 10)
    if refused.code == 404:
        return Failed("no_bundle", why, 10)
    if refused.code in (301, 307) or code == "AuthorizationHeaderMalformed":
        return Failed("wrong_region", why)
    if refused.code in (401, 403):
        return Failed("access_denied", why, 60)
    return Failed("store_error", why, 120)


def fetch():
    request = urllib.request.Request(C["url"], headers=signed(
        C["url"], C["region"], metadata()[2]))
    try:
        data = store.open(request, timeout=60).read()
    except urllib.error.HTTPError as refused:
        raise refusal(refused)
    if hashlib.sha256(data).hexdigest() != C["sha256"]:
        raise Failed("bad_checksum", "%d bytes of another sum than %s" % (
            len(data), C["sha256"]))
    return data


def trust():
    """Whom the store is believed by: this system's authorities, and those named."""
    context = ssl.create_default_context()
    if C.get("ca"):
        context.load_verify_locations(cadata=C["ca"])
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))


def trust_later():
    """The same for the agent."""
    if C.get("ca"):
        with open(TOP + "/bundle/etc/ca-certificates.crt") as source:
            known = source.read()
        with open(TOP + "/ca.pem", "w") as out:
            out.write(known + "\n" + C["ca"])
        C["env"]["GPUCLOUD_CA_FILE"] = TOP + "/ca.pem"


def machine(path):
    """What a program is for: e_machine of its header."""
    with open(path, "rb") as source:
        return source.read(20)[18:]


def unpack(data):
    safe = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        packed.extractall(TOP + "/bundle", **safe)
    if machine(TOP + "/bundle/bin/gpucloud") != machine("/proc/self/exe"):
        raise Failed("wrong_arch", "the machine is " + os.uname().machine)


def describe(region, ident, path):
    node = C["node"]
    with open("/proc/sys/kernel/random/boot_id") as source:
        node["boot"] = source.read().strip()
    node["id"] = "%s/%s" % (region, ident)
    node["created_ms"] = int(time.time() * 1000)
    node["created_boot_ms"] = int(time.clock_gettime(7) * 1000)  # since boot, as Linux
    with open(path + "/node.json", "w") as out:                  # counts its clocks
        json.dump(node, out)
    return node["id"]


def run():
    os.makedirs(TOP + "/node", 0o700, exist_ok=True)
    ident, region, _ = patient("no_metadata", 120, metadata)
    unpack(patient("no_network", 120, fetch))
    trust_later()
    name = describe(region, ident, TOP + "/node")
    print("gpucloud: node %s starts" % name, flush=True)
    code = subprocess.call([TOP + "/bundle/gpucloud", "agent", "--launch", TOP + "/node"],
                           env=dict(os.environ, HOME="/root", **C["env"]))
    with open(TOP + "/node/node.json") as source:
        why = json.load(source).get("why", "")
    print("gpucloud: node %s ends (%d): %s" % (name, code, why), flush=True)
    if code or why.startswith("its agent"):
        raise Failed("agent_died", why or "it ended with %d" % code)


try:
    store = trust()
    run()
except Failed as why:
    print("gpucloud: boot failed: %s" % why, flush=True)
except Exception as why:
    print("gpucloud: boot failed: %s" % (
        isinstance(why, OSError) and named(why) or
        "script_failed: %s: %s" % (type(why).__name__, why)), flush=True)
