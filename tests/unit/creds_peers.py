#!/usr/bin/python3
"""The chain of AWS against services that check signatures, and beside botocore.

  creds_peers.py SHOW-CREDS

The services are those of tests/fakecloud. Every run has a home folder and an
environment of its own. botocore reads the same files: random ones must give the
same keys, and what one of both keeps on disk the other must find.
"""
import hashlib
import json
import os
import pty
import random
import shutil
import subprocess
import sys
import tempfile
import urllib.request

SHOW = sys.argv[1]
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SEED, COUNT = int(os.environ.get("CREDS_SEED", "4")), int(os.environ.get("CREDS_COUNT", "120"))
NODE = "arn:aws:iam::123456789012:role/node"
ASSUMED = "arn:aws:sts::123456789012:assumed-role/node/"
MFA = {"arn": "arn:aws:iam::123456789012:role/careful", "external_id": "a b&c",
       "mfa_serial": "arn:aws:iam::123456789012:mfa/tester", "mfa_code": "123456"}
KEY = ("AKIAFAKEFAKEFAKE0001", "fake/secret+of/the/stand-in/0123456789ab")
STATIC = "aws_access_key_id = %s\naws_secret_access_key = %s\n" % KEY
done = failed = 0
work = tempfile.mkdtemp(prefix="gpucloud-creds.")


def report(good, name, detail="", skip=""):
    global done, failed
    done += 1
    failed += not good
    print("%s %d - %s%s" % ("ok" if good else "not ok", done, name,
                            " # SKIP " + skip if skip else ""), flush=True)
    if not good:
        print("\n".join("# " + line for line in detail.splitlines()))


def is_(got, want, name):
    report(got == want, name, "got:  %r\nwant: %r" % (got, want))


# --- the stand-in ---
class Cloud:
    def __init__(self):
        ready, config = os.path.join(work, "ready.json"), os.path.join(work, "config.json")
        with open(config, "w", encoding="utf-8") as f:
            json.dump({"aws": {"roles": [{"arn": NODE}, MFA]}}, f)
        env = {"PYTHONPATH": TESTS, "PATH": "/usr/bin:/bin"}
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-m", "fakecloud", "--dir", work, "--ready", ready,
             "--config", config, "--until-eof"], stdin=subprocess.PIPE, env=env)
        while not os.path.exists(ready):
            if self.process.poll() is not None:
                sys.exit("fakecloud did not start")
        with open(ready, encoding="utf-8") as f:
            self.http = json.load(f)["http"]

    def control(self, path, value):
        request = urllib.request.Request(self.http["control"] + "/_control/" + path,
                                         json.dumps(value).encode(), method="POST")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# --- a machine ---
class Machine:
    def __init__(self, cloud):
        self.home = tempfile.mkdtemp(dir=work)
        self.env = {"HOME": self.home, "PATH": "/usr/bin:/bin",
                    "AWS_EC2_METADATA_DISABLED": "true",
                    "AWS_EC2_METADATA_SERVICE_ENDPOINT": cloud.http["imds"],
                    "AWS_METADATA_SERVICE_TIMEOUT": "20",
                    "AWS_ENDPOINT_URL_STS": cloud.http["sts"],
                    "AWS_ENDPOINT_URL_SSO": cloud.http["sso"],
                    "AWS_ENDPOINT_URL_SSO_OIDC": cloud.http["oidc"]}
        for name in os.environ:
            if name.startswith(("ASAN_", "UBSAN_", "LSAN_", "GPUCLOUD_TEST_")):
                self.env[name] = os.environ[name]

    def write(self, path, text):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def show(self, *arguments):
        p = subprocess.run([SHOW, *arguments], env=self.env, capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=300)
        if not p.stdout:
            sys.exit("show-creds %s: %s" % (arguments, p.stderr.decode()))
        for secret in (KEY[1], "sso-client-secret", "sso-refresh-token"):
            if secret.encode() in p.stdout + p.stderr:
                report(False, "a secret is shown", p.stdout.decode())
        return dict(json.loads(p.stdout), exit=p.returncode)

    def caller(self, name, want, *arguments, source=None):
        """Who STS says that the chain's keys are."""
        got = self.show("-c", *arguments)
        arn = got.get("arn", got.get("msg"))
        report(arn is not None and (arn == want or want.endswith("*") and
               arn.startswith(want[:-1])) and (source is None or source in got["source"]),
               name, json.dumps(got, indent=1))
        return got


# --- cases with services ---
def test_keys(cloud):
    m = Machine(cloud)
    m.env.update(AWS_ACCESS_KEY_ID=KEY[0], AWS_SECRET_ACCESS_KEY=KEY[1])
    got = m.caller("keys of the environment", "arn:aws:iam::123456789012:user/tester")
    is_(got["secret_sha256"], hashlib.sha256(KEY[1].encode()).hexdigest(), "their secret")
    m.env["AWS_SECRET_ACCESS_KEY"] = "wrong"
    is_(m.show("-c")["exit"], 4, "a wrong secret: exit 4")


def test_roles(cloud):
    m = Machine(cloud)
    m.write(".aws/credentials", "[base]\n" + STATIC)
    m.write(".aws/config", """[profile one]
role_arn = %s
source_profile = base
region = eu-central-1
[profile two]
role_arn = %s
source_profile = one
role_session_name = second
[profile env]
role_arn = %s
credential_source = Environment
[profile box]
role_arn = %s
credential_source = EcsContainer
[profile ec2]
role_arn = %s
credential_source = Ec2InstanceMetadata
[profile denied]
role_arn = arn:aws:iam::123456789012:role/other
source_profile = base
""" % ((NODE,) * 5))
    m.caller("a role", ASSUMED + "gpucloud-*", "-p", "one", source="role " + NODE)
    m.caller("a role of a role", ASSUMED + "second", "-p", "two")
    m.env.update(AWS_ACCESS_KEY_ID=KEY[0], AWS_SECRET_ACCESS_KEY=KEY[1])
    shutil.rmtree(m.home + "/.aws/cli")
    m.caller("a role by the environment", ASSUMED + "*", "-p", "env")
    m.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = cloud.http["container"] + "/credentials"
    m.env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "container-token"
    shutil.rmtree(m.home + "/.aws/cli")
    m.caller("a role by the container", ASSUMED + "*", "-p", "box")
    m.env["AWS_EC2_METADATA_DISABLED"] = "false"
    shutil.rmtree(m.home + "/.aws/cli")
    m.caller("a role by the instance", ASSUMED + "*", "-p", "ec2")
    got = m.show("-p", "denied")
    report(got["code"] == "auth" and "AccessDenied" in got["msg"] and got["request_id"],
           "a role that is denied, with the request's id", str(got))


def at_terminal(m, code, *arguments):
    """Runs show-creds at a terminal of its own and answers its question."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(SHOW, [SHOW, *arguments], m.env)
    said, answered = b"", False
    while True:
        try:
            piece = os.read(fd, 4096)
        except OSError:  # the other end is closed
            piece = b""
        said += piece
        if not piece:
            break
        if b": " in said and b"MFA code" in said and not answered:
            os.write(fd, code + b"\n")
            answered = True
    os.waitpid(pid, 0)
    os.close(fd)
    return said.decode()


def test_mfa(cloud):
    m = Machine(cloud)
    m.write(".aws/credentials", "[base]\n" + STATIC)
    m.write(".aws/config", "[profile mfa]\nrole_arn = %s\nsource_profile = base\nmfa_serial = "
            "%s\nexternal_id = %s\n" % (MFA["arn"], MFA["mfa_serial"], MFA["external_id"]))
    got = m.show("-p", "mfa")
    report("nothing may be asked" in got["msg"], "no terminal: no question", str(got))
    said = at_terminal(m, b"000000", "-p", "mfa")
    report("MultiFactorAuthentication failed" in said, "a wrong code", said)
    said = at_terminal(m, b"123456", "-p", "mfa")
    report("MFA code for %s (profile mfa): " % MFA["mfa_serial"] in said and
           '"id":"ASIA' in said, "a code that is typed", said)
    m.caller("is not asked for again", "arn:aws:sts::123456789012:assumed-role/careful/*",
             "-p", "mfa")


def test_web_and_ci(cloud):
    m = Machine(cloud)
    m.env["AWS_ROLE_ARN"] = NODE
    token = m.write("token", "web-identity-token")
    m.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = token
    m.env["AWS_ROLE_SESSION_NAME"] = "pod-1"
    m.caller("web identity", ASSUMED + "pod-1", source="by web identity")
    m.write("token", "other")
    got = m.show()
    report("InvalidIdentityToken" in got["msg"], "a token that is refused", str(got))
    del m.env["AWS_WEB_IDENTITY_TOKEN_FILE"]
    m.env.update(GITLAB_CI="true", GITLAB_OIDC_TOKEN="web-identity-token")
    m.caller("GitLab", ASSUMED + "pod-1", source="GitLab")
    del m.env["GITLAB_CI"]
    m.env.update(GITHUB_ACTIONS="true",
                 ACTIONS_ID_TOKEN_REQUEST_URL=cloud.http["github"] + "/token?api=1",
                 ACTIONS_ID_TOKEN_REQUEST_TOKEN="actions-request-token")
    m.caller("GitHub", ASSUMED + "pod-1", source="GitHub")


def test_sso(cloud):
    m = Machine(cloud)
    m.write(".aws/config", """[profile p]
sso_session = corp
sso_account_id = 123456789012
sso_role_name = node
[sso-session corp]
sso_start_url = https://x.awsapps.com/start
sso_region = eu-west-1
""")
    path = ".aws/sso/cache/" + hashlib.sha1(b"corp").hexdigest() + ".json"
    got = m.show("-p", "p")
    report(got["hint"] == "run: aws sso login --profile p", "no login", str(got))
    login = {"startUrl": "https://x.awsapps.com/start", "region": "eu-west-1",
             "accessToken": "stale", "expiresAt": "2020-01-01T00:00:00Z",
             "clientId": "sso-client", "clientSecret": "sso-client-secret",
             "registrationExpiresAt": "2999-01-01T00:00:00Z",
             "refreshToken": "sso-refresh-token"}
    m.write(path, json.dumps(login))
    m.caller("a login that is renewed", ASSUMED + "sso", "-p", "p", source="SSO, role node")
    with open(os.path.join(m.home, path), encoding="utf-8") as f:
        kept = json.load(f)
    report(kept["refreshToken"].startswith("rotated-") and kept["accessToken"] != "stale",
           "its new tokens are kept")
    is_(os.stat(os.path.join(m.home, path)).st_mode & 0o777, 0o600, "in a private file")
    m.caller("renewed when it is refused", ASSUMED + "sso", "-r", "-p", "p")
    return m, path


def test_machines(cloud):
    m = Machine(cloud)
    m.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = cloud.http["container"] + "/v2/credentials"
    m.env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "container-token"
    m.caller("a container", ASSUMED + "task", source="container (")
    m.env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "wrong"
    report("the Authorization header is another" in m.show()["msg"], "its token is refused")
    m = Machine(cloud)
    m.env["AWS_EC2_METADATA_DISABLED"] = "false"
    for mode, works in (("v2", 1), ("both", 1), ("v1", 1), ("disabled", 0), ("no-role", 0),
                        ("failed", 0)):
        cloud.control("settings", {"imds": mode})
        if works:
            m.caller("instance metadata: " + mode, ASSUMED + "i-0fake",
                     source="instance metadata, role node")
        else:
            got = m.show()
            report(got.get("code") == "auth" and "instance metadata" in got["msg"],
                   "instance metadata: " + mode, str(got))
    cloud.control("settings", {"imds": "both"})


def test_time(cloud):
    m = Machine(cloud)
    m.write(".aws/credentials", "[base]\n" + STATIC)
    m.write(".aws/config", "[profile one]\nrole_arn = %s\nsource_profile = base\n" % NODE)
    cloud.control("settings", {"clock_offset": -7200})
    m.caller("a clock that is two hours fast", ASSUMED + "*", "-p", "one")
    cloud.control("settings", {"clock_offset": 0})
    m.show("-p", "one")
    cloud.control("expire", {})
    m.caller("keys on disk that have been ended are renewed", ASSUMED + "*", "-p", "one")


# --- beside botocore ---
def boto_env(m):
    os.environ.clear()
    os.environ.update(m.env)
    import botocore.session
    return botocore.session


def boto_get(m, profile):
    session = boto_env(m).Session(profile=profile)
    try:
        got = session.get_credentials()
        return (got.access_key, hashlib.sha256(got.secret_key.encode()).hexdigest(),
                got.token) if got else None
    except Exception as error:  # whatever it calls it: they are not to be had
        return type(error).__name__


def our_get(m, profile):
    got = m.show(*(["-p", profile] if profile else []))
    if "id" not in got:
        return got["code"]
    return got["id"], got["secret_sha256"], got.get("token_sha256")


def same_keys(ours, theirs):
    if isinstance(theirs, tuple) != isinstance(ours, tuple):
        return False
    if not isinstance(theirs, tuple):
        return True
    token = theirs[2] and hashlib.sha256(theirs[2].encode()).hexdigest()
    return ours == (theirs[0], theirs[1], token)


def random_files(rng):
    """A config and a credentials file of the same few names, in many forms."""
    def value(name):
        words = ["AK%d" % rng.randrange(9), "a/b+c=", "x;y", "#z", "'q'", "k:v=w"]
        # We refuse keys that could not stand in a header, botocore does not.
        return rng.choice(words if "aws" in name else words + ["x # y", "ü", ""])

    def section(credentials):
        kind = rng.choice(["default", "a", "b", "a b"])
        if credentials:
            head = kind
        elif kind == "default":
            head = rng.choice(["default", "profile default"])
        else:
            head = rng.choice(["profile %s", "profile   %s", "profile '%s'", 'profile "%s"',
                               "%s"]) % kind
        pad = rng.choice(["", "", "  "])
        lines = ["[%s]" % head]
        names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token", "region",
                 "s3"]
        rng.shuffle(names)
        for name in names[:rng.randrange(2, 6)]:
            if name == "s3":
                lines.append(pad + "s3 =\n" + pad + "   addressing_style = path")
                continue
            written = rng.choice([name, name.upper(), name])
            lines.append(pad + written + rng.choice(["=", " = ", ":", "\t= "])
                         + value(name))
            if rng.random() < 0.15:
                lines.append(rng.choice(["", "# note", "   ; note", "\t"]))
        return head, "\n".join(lines) + "\n"

    def file(credentials):
        made = dict(section(credentials) for _ in range(rng.randrange(1, 4)))
        return "".join(rng.choice(["", "\n", "# c\n"]) + text for text in made.values())
    return file(False), file(True)


def test_random_files(cloud):
    rng = random.Random(SEED)
    m, wrong = Machine(cloud), []
    for _ in range(COUNT):
        config, keys = random_files(rng)
        m.write(".aws/config", config)
        m.write(".aws/credentials", keys)
        for profile in (None, "a", "a b"):
            ours, theirs = our_get(m, profile), boto_get(m, profile)
            if not same_keys(ours, theirs):
                wrong.append("profile %s: we say %s, botocore %s\n--- config\n%s--- credentials\n"
                             "%s" % (profile, ours, theirs, config, keys))
    report(not wrong, "%d random pairs of files" % COUNT, "\n".join(wrong[:3]))


def test_one_cache(cloud):
    """What AWS's own code would look for is what we have kept, and the reverse."""
    m = Machine(cloud)
    boto_env(m)
    from botocore import credentials, utils
    m.write(".aws/credentials", "[base]\n" + STATIC)
    m.write(".aws/config", "[profile one]\nrole_arn = %s\nsource_profile = base\nexternal_id = "
            "e\nduration_seconds = 3600\nrole_session_name = nn\n" % NODE)
    ours = m.show("-p", "one")
    cache = utils.JSONFileCache(os.path.join(m.home, ".aws/cli/cache"))
    fetcher = credentials.AssumeRoleCredentialFetcher(
        None, None, NODE, cache=cache,
        extra_args={"ExternalId": "e", "DurationSeconds": 3600, "RoleSessionName": "nn"})
    is_(fetcher.fetch_credentials()["access_key"], ours["id"], "botocore finds our role's keys")
    fetcher._write_to_cache({"Credentials": {
        "AccessKeyId": "ASIATHEIRS", "SecretAccessKey": "s", "SessionToken": "t",
        "Expiration": "2999-01-01T00:00:00UTC"}})
    is_(m.show("-p", "one").get("id"), "ASIATHEIRS", "we find those that it keeps")
    is_(credentials.SSOCredentialFetcher("https://s", "eu-west-1", "Dev", "1", None)
        ._create_cache_key(), hashlib.sha1(
            b'{"accountId":"1","roleName":"Dev","startUrl":"https://s"}').hexdigest(),
        "and name SSO roles alike")


def main():
    cloud = Cloud()
    try:
        for test in (test_keys, test_roles, test_mfa, test_web_and_ci, test_sso, test_machines,
                     test_time):
            test(cloud)
        try:
            import botocore.session  # noqa: F401
            peers = True
        except ImportError:
            peers = False
        for test in (test_random_files, test_one_cache):
            if peers:
                test(cloud)
            else:
                report(True, test.__name__, skip="no botocore (python3-botocore)")
    finally:
        cloud.close()
        shutil.rmtree(work)
    print("1..%d" % done)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
