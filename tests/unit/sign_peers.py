#!/usr/bin/python3
"""Lets botocore, the stand-in for clouds (tests/fakecloud) and the openssl command
sign what we sign, and compares.

  sign_peers.py SIGN-DRIVER

Requests are random but the same each time; SIGN_SEED and SIGN_COUNT change that.
Of botocore only the steps of its signature are called, so that the time is ours.
"""
import base64
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from urllib.parse import quote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
DRIVER = sys.argv[1]
COUNT = int(os.environ.get("SIGN_COUNT", "300"))
SEED = int(os.environ.get("SIGN_SEED", "4"))
rng = random.Random(SEED)
done = 0


def report(good, name, detail="", skip=""):
    global done
    done += 1
    print(f"{'ok' if good else 'not ok'} {done} - {name}"
          + (f" # SKIP {skip}" if skip else ""))
    if not good:
        print("\n".join("# " + line for line in detail.splitlines()))
    return good


def drive(lines, *arguments):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    p = subprocess.run([DRIVER, *arguments], input=text.encode(),
                       capture_output=True)
    if p.returncode:
        sys.exit(f"{DRIVER}: {p.stderr.decode()}")
    return p.stdout.decode().split()


# --- random requests ---
PLAIN = "abcXYZ019-_.~"
ODD = PLAIN + " !\"#$&'()*+,/:;<=>?@[\\]^`{|}%\u00e4\u20ac\U0001f600"


def word(letters, most=12):
    return "".join(rng.choices(letters, k=rng.randint(1, most)))


def path():
    segments = [rng.choice(["", ".", "..", "a", word(ODD), word(ODD)])
                for _ in range(rng.randint(0, 5))]
    return "/" + quote("/".join(segments), safe="/-_.~")


def query(in_url):
    names = [word(ODD) for _ in range(rng.randint(0, 5))]
    if in_url:  # there botocore keeps but the first of a name
        names = list(dict.fromkeys(names))
    elif names:
        names.append(rng.choice(names))
    return [[name, rng.choice([None, "", word(ODD), word(ODD, 40)])]
            for name in names]


def headers():
    names = [f"x-{word('abz09-', 8)}" for _ in range(rng.randint(0, 4))]
    names += rng.choices(["content-type", "range", "x-amz-acl", "if-match",
                          "x-amz-meta-a", "x-amz-copy-source"], k=2)
    if rng.random() < 0.3:
        names.append(rng.choice(names))
    return [[name, rng.choice(["", " ", "\t"]) + word(PLAIN + "  ,=\";/\t", 30)
             + rng.choice(["", "  "])] for name in names]


def case(s3, in_url):
    scheme = rng.choice(["http", "https"])
    j = {"how": "sigv4", "in_url": in_url, "s3": s3, "scheme": scheme,
         "method": rng.choice(["GET", "PUT", "POST", "DELETE", "HEAD"]),
         "host": rng.choice(["h", "b.s3.eu-west-1.amazonaws.com", "::1"]),
         "port": rng.choice([80, 443, 8080, {"http": 80, "https": 443}[scheme]]),
         "path": path(), "query": query(in_url), "headers": headers(),
         "id": "AKID" + word("ABC234", 16), "secret": word(PLAIN + "/+", 40),
         "region": rng.choice(["us-east-1", "cn-north-1"]),
         "service": "s3" if s3 else rng.choice(["ec2", "sts"]),
         "now": datetime.fromtimestamp(rng.randrange(1 << 32), timezone.utc)
         .strftime("%Y-%m-%dT%H:%M:%SZ"),
         "expires": rng.randint(1, 604800)}
    if rng.random() < 0.5:
        j["token"] = word(PLAIN + "/+=", 200)
    if not in_url and rng.random() < 0.5:
        j["body"] = word(ODD, 300)
    if s3 and scheme == "https" and rng.random() < 0.3:
        j["unsigned_payload"] = True
    return j


# --- botocore ---
def by_botocore(j):
    from botocore.auth import (S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth,
                               SigV4QueryAuth)
    from botocore.awsrequest import AWSRequest
    from botocore.config import Config
    from botocore.credentials import Credentials

    host = f"[{j['host']}]" if ":" in j["host"] else j["host"]
    if j["port"] != {"http": 80, "https": 443}[j["scheme"]]:
        host += f":{j['port']}"
    url = f"{j['scheme']}://{host}{j['path']}"
    if j["query"]:
        url += "?" + "&".join(quote(n, safe="-_.~") + "="
                              + quote(v or "", safe="-_.~")
                              for n, v in j["query"])
    request = AWSRequest(method=j["method"], url=url,
                         data=j.get("body", "").encode())
    for name, value in j["headers"]:
        request.headers[name] = value  # adds
    request.context["timestamp"] = j["now"].replace("-", "").replace(":", "")
    if "unsigned_payload" in j:
        request.context["client_config"] = Config(
            s3={"payload_signing_enabled": False})
    keys = Credentials(j["id"], j["secret"], j.get("token"))
    kind = {(False, False): SigV4Auth, (True, False): S3SigV4Auth,
            (False, True): SigV4QueryAuth, (True, True): S3SigV4QueryAuth}[
                (j["s3"], j["in_url"])]
    more = {"expires": j["expires"]} if j["in_url"] else {}
    auth = kind(keys, j["service"], j["region"], **more)
    auth._modify_request_before_signing(request)
    canonical = auth.canonical_request(request)
    text = auth.string_to_sign(request, canonical)
    return auth.signature(text, request), canonical


def compare_botocore():
    kinds = [(s3, in_url) for s3 in (False, True) for in_url in (False, True)]
    names = [f"{'s3' if s3 else 'services'}, {'URL' if in_url else 'header'}:"
             " signed as by botocore" for s3, in_url in kinds]
    try:
        import botocore  # noqa: F401
    except ImportError:
        for name in names:
            report(True, name, skip="python3-botocore is not here")
        return
    for (s3, in_url), name in zip(kinds, names):
        cases = [case(s3, in_url) for _ in range(COUNT // len(kinds))]
        ours = drive(cases)
        wrong = []
        for j, signature in zip(cases, ours):
            theirs, canonical = by_botocore(j)
            if theirs != signature:
                wrong.append(f"{json.dumps(j)}\n{canonical}")
        report(len(ours) == len(cases) and not wrong, name,
               f"{len(wrong)} of {len(cases)} differ, seed {SEED}\n"
               + "\n".join(wrong[:1]))


# --- the stand-in: written apart from ours, by the published rules ---
def target(j, more):
    pairs = j["query"] + more
    return j["path"] + "?" + "&".join(
        quote(n, safe="-_.~") + ("" if v is None else "=" + quote(v, safe="-_.~"))
        for n, v in pairs)


def by_acs(j):
    from fakecloud import acs
    from fakecloud.http1 import Request
    payload = hashlib.sha256(j["body"].encode()).hexdigest()
    sent = [["host", j["host"]], ["x-acs-date", j["now"]],
            ["x-acs-signature-nonce", j["nonce"]],
            ["x-acs-content-sha256", payload], *j["headers"]]
    if "token" in j:
        sent.append(["x-acs-security-token", j["token"]])
    signed = sorted(n for n, _ in sent if n != "accept")
    request = Request(j["method"], target(j, []), sent, True)
    canonical = acs.canonical_request(request, j["path"], signed, payload)
    return acs.signature(j["secret"], canonical)[0], canonical


def acs_case():
    j = case(False, False)
    j.update(how="acs3", scheme="https", port=443, nonce=word("0123abcd", 32),
             body=j.get("body", ""), headers=[["x-acs-action", word(PLAIN)],
                                              ["x-acs-version", "2014-05-26"],
                                              ["accept", "application/json"]])
    if j["body"]:
        j["headers"].append(["content-type", "text/plain; a=b "])
    j["host"] = "ecs.cn-hangzhou.aliyuncs.com"
    return j


def compact(now):
    return now.replace("-", "").replace(":", "")


def by_oss(j):
    from fakecloud import oss4
    from fakecloud.http1 import Request
    stamp, more = compact(j["now"]), []
    scope = f"{stamp[:8]}/{j['region']}/oss/aliyun_v4_request"
    sent = list(j["headers"])
    if j["in_url"]:
        more = [["x-oss-signature-version", "OSS4-HMAC-SHA256"],
                ["x-oss-date", stamp], ["x-oss-expires", str(j["expires"])],
                ["x-oss-credential", f"{j['id']}/{scope}"]]
    else:
        sent += [["x-oss-date", stamp],
                 ["x-oss-content-sha256", "UNSIGNED-PAYLOAD"]]
    if "token" in j:
        (more if j["in_url"] else sent).append(
            ["x-oss-security-token", j["token"]])
    request = Request(j["method"], target(j, more), sent, True)
    canonical = oss4.canonical_request(request, j.get("bucket"), j.get("object"), [])
    return oss4.signature(j["secret"], stamp, scope, canonical)[0], canonical


def oss_case():
    j = case(True, rng.random() < 0.5)
    j.update(how="oss4", region="cn-hangzhou", headers=[
        ["range", "bytes=0-1"], [f"x-oss-meta-{word('ab')}", word(PLAIN + " ")],
        ["content-type", " text/plain"]])
    j["query"] = [q for q in query(True)]
    if rng.random() < 0.9:
        j["bucket"] = word("abc-")
        if rng.random() < 0.9:
            j["object"] = word(ODD, 40)
    return j


def by_google(j, pem):
    from fakecloud import sigv4
    from fakecloud.http1 import Request
    stamp = compact(j["now"])
    scope = f"{stamp[:8]}/auto/storage/goog4_request"
    sent = [["host", j["host"]], *j["headers"]]
    signed = sorted({n for n, _ in sent})
    more = [["X-Goog-Algorithm", "GOOG4-RSA-SHA256"],
            ["X-Goog-Credential", f"{j['email']}/{scope}"],
            ["X-Goog-Date", stamp], ["X-Goog-Expires", str(j["expires"])],
            ["X-Goog-SignedHeaders", ";".join(signed)]]
    request = Request(j["method"], target(j, more), sent, True)
    canonical = sigv4.canonical_request(
        request, j["path"], sigv4.canonical_query(request.query), signed,
        "UNSIGNED-PAYLOAD")
    text = "\n".join(["GOOG4-RSA-SHA256", stamp, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    return by_openssl(text, pem).hex(), canonical


def google_case():
    j = case(True, True)
    j.update(how="gcs", email=word("abc.") + "@p.iam.gserviceaccount.com",
             host="storage.googleapis.com", port=443, scheme="https")
    return j


def compare_stand_in(name, make, sign, n, *key):
    cases = [make() for _ in range(n)]
    ours = drive(cases, *key)
    wrong = []
    for j, signature in zip(cases, ours):
        theirs, canonical = sign(j, *key)
        if theirs != signature:
            wrong.append(f"{json.dumps(j)}\n{canonical}")
    report(len(ours) == n and not wrong, f"{name} as by the stand-in",
           f"{len(wrong)} of {n} differ, seed {SEED}\n" + "\n".join(wrong[:1]))


# --- openssl ---
def new_key(folder, bits):
    pem = f"{folder}/{bits}.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt",
                    f"rsa_keygen_bits:{bits}", "-out", pem], check=True,
                   capture_output=True)
    return pem


def by_openssl(text, pem):
    return subprocess.run(["openssl", "dgst", "-sha256", "-sign", pem],
                          input=text.encode(), capture_output=True,
                          check=True).stdout


def unbase64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def check_token(j, token, pem):
    head, claims, signature = token.split(".")
    want = by_openssl(f"{head}.{claims}", pem)
    now = int(datetime.strptime(j["now"], "%Y-%m-%dT%H:%M:%SZ")
              .replace(tzinfo=timezone.utc).timestamp())
    named = {n: j[n] for n in ("iss", "sub", "aud", "scope") if n in j}
    expected = dict(named, iat=now, exp=now + j["lifetime"])
    return (unbase64(signature) == want
            and json.loads(unbase64(claims)) == expected
            and json.loads(unbase64(head)) ==
            dict({"alg": "RS256", "typ": "JWT"},
                 **({"kid": j["kid"]} if "kid" in j else {})))


def compare_openssl(folder, bits):
    pem = new_key(folder, bits)
    cases = []
    for _ in range(5):
        j = {"how": "jwt", "now": "2024-01-02T03:04:05Z",
             "lifetime": rng.randint(1, 3600), "iss": word(ODD, 30)}
        for name in ("sub", "aud", "scope", "kid"):
            if rng.random() < 0.5:
                j[name] = word(ODD, 60)
        cases.append(j)
    tokens = drive(cases, pem)
    return len(tokens) == len(cases) and all(
        check_token(j, token, pem) for j, token in zip(cases, tokens))


def main():
    compare_botocore()
    compare_stand_in("ACS3: signed", acs_case, by_acs, COUNT // 4)
    compare_stand_in("OSS: signed", oss_case, by_oss, COUNT // 4)
    folder = tempfile.mkdtemp(prefix="gpucloud-test-")
    rsa = [f"tokens by a key of {bits} bits are signed as by openssl"
           for bits in (2048, 3072)]
    google = "Cloud Storage: URLs are signed"
    try:
        if not shutil.which("openssl"):
            for name in rsa + [google]:
                report(True, name, skip="openssl is not here")
        else:
            for bits, name in zip((2048, 3072), rsa):
                report(compare_openssl(folder, bits), name)
            compare_stand_in(google, google_case, by_google, COUNT // 10,
                             f"{folder}/2048.pem")
    finally:
        shutil.rmtree(folder)
    print(f"1..{done}")


main()
