"""The identity services of AWS against botocore."""
import configparser
import datetime
import hashlib
import json
import os
import tempfile
from urllib.parse import quote, urlencode

from check_s3 import boto3, fetch
from check_vectors import same
from selftest import Skip

try:
    import botocore.session
    from botocore import auth, awsrequest, credentials, tokens, utils
    from botocore.exceptions import ClientError
except ImportError:
    pass


def need_botocore():
    if boto3 is None:
        raise Skip("no botocore (python3-boto3)")


def sts(cloud, **more):
    need_botocore()
    key = cloud.config["aws"]["keys"][0]
    options = dict(endpoint_url=cloud.http["sts"], region_name="eu-central-1",
                   aws_access_key_id=key["id"], aws_secret_access_key=key["secret"])
    return boto3.client("sts", **dict(options, **more))


def refused(call, code, **args):
    try:
        call(**args)
    except ClientError as error:
        same(error.response["Error"]["Code"], code)
        return
    raise AssertionError("not refused")


def role(cloud):
    return cloud.config["aws"]["roles"][0]["arn"]


def test_sts_caller_and_roles(cloud):
    client = sts(cloud)
    key = cloud.config["aws"]["keys"][0]
    same(client.get_caller_identity()["Arn"], key["arn"])
    got = client.assume_role(RoleArn=role(cloud), RoleSessionName="it+is")["Credentials"]
    inner = sts(cloud, aws_access_key_id=got["AccessKeyId"],
                aws_secret_access_key=got["SecretAccessKey"],
                aws_session_token=got["SessionToken"])
    same(inner.get_caller_identity()["Arn"],
         "arn:aws:sts::123456789012:assumed-role/node/it+is")
    refused(inner.assume_role, "ValidationError", RoleArn=role(cloud), RoleSessionName="n2",
            DurationSeconds=7200)
    refused(client.assume_role, "AccessDenied", RoleArn=role(cloud) + "x",
            RoleSessionName="n2")
    refused(sts(cloud, aws_secret_access_key="x").get_caller_identity, "SignatureDoesNotMatch")
    refused(sts(cloud, aws_access_key_id="x").get_caller_identity, "InvalidClientTokenId")
    cloud.control("expire", {})
    refused(inner.get_caller_identity, "ExpiredToken")


def test_sts_web_identity(cloud):
    client = sts(cloud)
    args = {"RoleArn": role(cloud), "RoleSessionName": "web"}
    got = client.assume_role_with_web_identity(WebIdentityToken="web-identity-token", **args)
    assert got["Credentials"]["SessionToken"]
    refused(client.assume_role_with_web_identity, "InvalidIdentityToken",
            WebIdentityToken="other", **args)


def test_sso_login_and_renewal(cloud):
    """botocore reads the cached login, renews it, and gets keys for it."""
    need_botocore()
    sso = cloud.config["aws"]["sso"]
    home = tempfile.mkdtemp(dir=cloud.folder)
    cache = os.path.join(home, ".aws/sso/cache")
    os.makedirs(cache)
    soon = datetime.datetime.utcnow() + datetime.timedelta(minutes=2)
    login = {"startUrl": "https://x.awsapps.com/start", "region": "eu-west-1",
             "accessToken": "stale", "expiresAt": soon.strftime("%Y-%m-%dT%H:%M:%SZ"),
             "clientId": sso["client_id"], "clientSecret": sso["client_secret"],
             "registrationExpiresAt": "2999-01-01T00:00:00Z",
             "refreshToken": sso["refresh_token"]}
    name = hashlib.sha1(b"corp").hexdigest() + ".json"
    with open(os.path.join(cache, name), "w", encoding="utf-8") as out:
        json.dump(login, out)
    config = configparser.RawConfigParser()
    config["profile p"] = {"sso_session": "corp", "sso_account_id": "123456789012",
                           "sso_role_name": "node", "region": "us-east-1"}
    config["sso-session corp"] = {"sso_start_url": login["startUrl"],
                                  "sso_region": "eu-west-1"}
    path = os.path.join(home, "config")
    with open(path, "w", encoding="utf-8") as out:
        config.write(out)
    os.environ["AWS_CONFIG_FILE"] = path
    try:
        session = botocore.session.Session(profile="p")
        provider = tokens.SSOTokenProvider(
            session, cache=utils.JSONFileCache(cache))
        real = session.create_client
        provider._session.create_client = lambda s, **k: real(
            s, endpoint_url=cloud.http[s.replace("sso-", "")], **k)
        token = provider.load_token().get_frozen_token().token
        assert token not in ("stale", sso["access_token"])
        client = real("sso", region_name="eu-west-1", endpoint_url=cloud.http["sso"])
        got = client.get_role_credentials(roleName="node", accountId="123456789012",
                                          accessToken=token)["roleCredentials"]
        same(sts(cloud, aws_access_key_id=got["accessKeyId"],
                 aws_secret_access_key=got["secretAccessKey"],
                 aws_session_token=got["sessionToken"]).get_caller_identity()["Arn"],
             "arn:aws:sts::123456789012:assumed-role/node/sso")
        refused(client.get_role_credentials, "UnauthorizedException", roleName="node",
                accountId="123456789012", accessToken="no")
    finally:
        del os.environ["AWS_CONFIG_FILE"]


def test_container_credentials(cloud):
    need_botocore()
    url = cloud.http["container"] + "/v2/credentials/1"
    same(fetch(url)[0], 401)
    environ = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url,
               "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token"}
    got = credentials.ContainerProvider(environ=environ).load()
    assert got.get_frozen_credentials().token


def test_instance_metadata(cloud):
    need_botocore()
    for mode, works in (("v2", True), ("both", True), ("v1", True), ("disabled", False),
                        ("no-role", False), ("failed", False)):
        cloud.set(imds=mode)
        fetcher = utils.InstanceMetadataFetcher(base_url=cloud.http["imds"] + "/",
                                                timeout=30, num_attempts=1,
                                                env={})
        got = fetcher.retrieve_iam_role_credentials()
        same((mode, bool(got)), (mode, works))
    cloud.set(imds="v2")
    same(fetch(cloud.http["imds"] + "/latest/meta-data/instance-id")[0], 401)
    token = fetch(cloud.http["imds"] + "/latest/api/token", "PUT", None,
                  {"X-aws-ec2-metadata-token-ttl-seconds": "60"})[1].decode()
    path = "/latest/meta-data/spot/instance-action"
    headers = {"X-aws-ec2-metadata-token": token}
    same(fetch(cloud.http["imds"] + path, headers=headers)[0], 404)
    cloud.control("metadata", {"aws": {"meta-data/spot/instance-action": "{}"}})
    same(fetch(cloud.http["imds"] + path, headers=headers), (200, b"{}"))


def test_google_exchange_of_an_aws_identity(cloud):
    """The subject token is a GetCallerIdentity that botocore signs."""
    need_botocore()
    audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/x"
    key = cloud.config["aws"]["keys"][0]
    url = "https://sts.us-east-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"

    def exchange(secret):
        asked = awsrequest.AWSRequest("POST", url, data=b"")
        auth.SigV4Auth(credentials.Credentials(key["id"], secret), "sts",
                       "us-east-1").add_auth(asked)
        headers = dict(asked.headers.items(), host="sts.us-east-1.amazonaws.com")
        headers["x-goog-cloud-target-resource"] = audience
        value = {"url": url, "method": "POST",
                 "headers": [{"key": k, "value": v} for k, v in headers.items()]}
        form = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "audience": audience, "scope": "s",
                "subject_token_type": "urn:ietf:params:aws:token-type:aws4_request",
                "subject_token": quote(json.dumps(value))}
        return fetch(cloud.http["google_sts"] + "/v1/token", "POST", urlencode(form),
                     {"Content-Type": "application/x-www-form-urlencoded"})
    same(exchange(key["secret"])[0], 200)
    status, said = exchange("wrong")
    assert status == 400 and b"SignatureDoesNotMatch" in said
