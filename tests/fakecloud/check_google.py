"""The identity services of Alibaba Cloud and Google, with requests that are built here
from the published rules and, for RS256, by the openssl command."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import time
from urllib.parse import quote, urlencode

from check_s3 import fetch
from check_vectors import same
from selftest import Skip

EMAIL = "signer@fake-project.iam.gserviceaccount.com"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def acs3_call(cloud, action, form, key, nonce, signer=None, version="2015-04-01"):
    body = urlencode(form, quote_via=quote).encode()
    headers = {"host": cloud.http["alibaba_sts"].partition("//")[2],
               "content-type": FORM["Content-Type"], "x-acs-action": action,
               "x-acs-version": version, "x-acs-signature-nonce": nonce,
               "x-acs-date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
               "x-acs-content-sha256": hashlib.sha256(body).hexdigest()}
    if key.get("token"):
        headers["x-acs-security-token"] = key["token"]
    names = sorted(headers)
    text = "\n".join(["POST", "/", "", "".join("%s:%s\n" % (n, headers[n]) for n in names),
                      ";".join(names), headers["x-acs-content-sha256"]])
    text = "ACS3-HMAC-SHA256\n" + hashlib.sha256(text.encode()).hexdigest()
    sum_ = hmac.new((signer or key["secret"]).encode(), text.encode(), hashlib.sha256)
    headers["Authorization"] = ("ACS3-HMAC-SHA256 Credential=%s,SignedHeaders=%s,Signature=%s"
                                % (key["id"], ";".join(names), sum_.hexdigest()))
    status, reply = fetch(cloud.http["alibaba_sts"] + "/", "POST", body, headers)
    return status, json.loads(reply)


def test_alibaba_sts(cloud):
    key = cloud.config["alibaba"]["keys"][0]
    role = {"RoleArn": "acs:ram::1234567890123456:role/node", "RoleSessionName": "n1"}
    status, got = acs3_call(cloud, "AssumeRole", role, key, "n1")
    same(status, 200)
    given = got["Credentials"]
    inner = {"id": given["AccessKeyId"], "secret": given["AccessKeySecret"],
             "token": given["SecurityToken"]}
    same(acs3_call(cloud, "GetCallerIdentity", {}, inner, "n2")[1]["Arn"],
         "acs:ram::1234567890123456:assumed-role/node/n1")
    same(acs3_call(cloud, "GetCallerIdentity", {}, inner, "n2")[1]["Code"],
         "SignatureNonceUsed")
    same(acs3_call(cloud, "GetCallerIdentity", {}, key, "n3", "wrong")[1]["Code"],
         "SignatureDoesNotMatch")
    cloud.control("expire", {})
    same(acs3_call(cloud, "GetCallerIdentity", {}, inner, "n4")[1]["Code"],
         "InvalidSecurityToken.Expired")
    asked = dict(role, OIDCToken="oidc-token", Action="AssumeRoleWithOIDC",
                 Version="2015-04-01", OIDCProviderArn="acs:ram::1:oidc-provider/fake")
    for token, wanted in (("oidc-token", 200), ("other", 400)):
        form = urlencode(dict(asked, OIDCToken=token))
        same(fetch(cloud.http["alibaba_sts"] + "/", "POST", form, FORM)[0], wanted)


def test_alibaba_metadata(cloud):
    base = cloud.http["ecs_metadata"] + "/latest/"
    cloud.set(ecs_metadata="hardened")
    path = base + "meta-data/ram/security-credentials/"
    same(fetch(path)[0], 403)
    token = fetch(base + "api/token", "PUT", None,
                  {"X-aliyun-ecs-metadata-token-ttl-seconds": "60"})[1].decode()
    headers = {"X-aliyun-ecs-metadata-token": token}
    same(fetch(path, headers=headers), (200, b"node"))
    got = json.loads(fetch(path + "node", headers=headers)[1])
    same(got["Code"], "Success")
    assert json.loads(fetch(cloud.http["credentials_uri"] + "/x")[1])["SecurityToken"]
    bearer = {"Authorization": "Bearer login-access-token"}
    status, got = fetch(cloud.http["alibaba_login"] + "/v1/exchange", "POST", b"", bearer)
    assert status == 200 and json.loads(got)["securityToken"]


def base64url(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def jwt(folder, claims, kid="k1"):
    """Signed by openssl with a key that is made once; the public key beside it."""
    private = os.path.join(folder, "rsa.pem")
    try:
        if not os.path.exists(private):
            subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", private],
                           check=True, capture_output=True)
        head = {"alg": "RS256", "typ": "JWT", "kid": kid}
        text = ".".join(base64url(json.dumps(p).encode()) for p in (head, claims))
        made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", private],
                              input=text.encode(), check=True, capture_output=True)
        public = subprocess.run(["openssl", "pkey", "-in", private, "-pubout"], check=True,
                                capture_output=True)
    except FileNotFoundError:
        raise Skip("no openssl command") from None
    return text + "." + base64url(made.stdout), public.stdout.decode()


def claims(**more):
    now = int(time.time())
    return dict({"iss": EMAIL, "iat": now, "exp": now + 3600, "scope": "cloud-platform",
                 "aud": "https://oauth2.googleapis.com/token"}, **more)


def token(cloud, assertion):
    form = urlencode({"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                      "assertion": assertion})
    status, reply = fetch(cloud.http["oauth2"] + "/token", "POST", form, FORM)
    return status, json.loads(reply)


def test_google_service_account(cloud):
    good, public = jwt(cloud.folder, claims())
    same(token(cloud, good)[1]["error"], "invalid_grant")
    cloud.control("accounts", {"email": EMAIL, "public_key": public, "key_id": "k1"})
    status, got = token(cloud, good)
    same((status, got["token_type"]), (200, "Bearer"))
    for wrong in (claims(aud="https://other/"), claims(exp=int(time.time()) + 3700),
                  claims(scope="")):
        same(token(cloud, jwt(cloud.folder, wrong)[0])[0], 400)
    same(token(cloud, jwt(cloud.folder, claims(), "k2")[0])[0], 400)
    head, body, signature = good.split(".")
    spoilt = ("A" if signature[5] != "A" else "B").join((signature[:5], signature[6:]))
    same(token(cloud, ".".join((head, body, spoilt)))[1]["error_description"],
         "Invalid JWT Signature.")


def test_google_user_and_impersonation(cloud):
    form = {"grant_type": "refresh_token", "client_id": "client-id",
            "client_secret": "client-secret", "refresh_token": "refresh-token"}
    status, reply = fetch(cloud.http["oauth2"] + "/token", "POST", urlencode(form), FORM)
    same(status, 200)
    bearer = {"Authorization": "Bearer " + json.loads(reply)["access_token"],
              "Content-Type": "application/json"}
    path = ("%s/v1/projects/-/serviceAccounts/%s:generateAccessToken" % (
        cloud.http["iamcredentials"], "node@fake-project.iam.gserviceaccount.com"))
    body = json.dumps({"delegates": [], "scope": ["x"], "lifetime": "3600s"})
    status, reply = fetch(path, "POST", body, bearer)
    assert status == 200 and json.loads(reply)["accessToken"]
    same(fetch(path.replace("node@", "none@"), "POST", body, bearer)[0], 403)
    same(fetch(path, "POST", body, {})[0], 401)
    form["refresh_token"] = "old"
    same(fetch(cloud.http["oauth2"] + "/token", "POST", urlencode(form), FORM)[0], 400)


def test_google_exchange_of_an_actions_token(cloud):
    audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/x"
    got = fetch(cloud.http["github"] + "/token?api-version=2.0&audience=" + quote(audience, ""),
                headers={"Authorization": "bearer actions-request-token"})[1]
    form = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "audience": audience, "scope": "https://www.googleapis.com/auth/cloud-platform",
            "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "subject_token": json.loads(got)["value"]}
    url = cloud.http["google_sts"] + "/v1/token"
    same(fetch(url, "POST", urlencode(form), FORM)[0], 200)
    form["subject_token"] = "nonsense"
    same(fetch(url, "POST", urlencode(form), FORM)[0], 400)


def test_google_metadata(cloud):
    path = cloud.http["gce_metadata"] + "/computeMetadata/v1/instance/service-accounts/default/"
    flavor = {"Metadata-Flavor": "Google"}
    same(fetch(path + "token")[0], 403)
    status, first = fetch(path + "token", headers=flavor)
    same(status, 200)
    second = fetch(path + "token", headers=flavor)[1]
    same(json.loads(first)["access_token"], json.loads(second)["access_token"])
    cloud.set(gce_metadata="no-account")
    same(fetch(path + "token", headers=flavor)[0], 404)
