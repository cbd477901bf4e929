"""Google's token endpoint, its security token service, and impersonation."""
import base64
import json

from . import sigv4
from .google_auth import (Google, GoogleError, account, bearer, check_jwt, issue,
                          seconds_left)
from .http1 import Failure, Request, decode
from .plain import Plain, document, reply

AUDIENCE = "https://oauth2.googleapis.com/token"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS = "urn:ietf:params:oauth:token-type:access_token"
AWS = "urn:ietf:params:aws:token-type:aws4_request"
JWTS = tuple("urn:ietf:params:oauth:token-type:" + t for t in ("jwt", "id_token"))


class OAuth(Plain):
    """Errors as RFC 6749 has them."""

    def failure(self, request, failed):
        value = dict({"error": failed.code, "error_description": failed.message},
                     **failed.more)
        return reply(value, failed.status, failed.headers)

    def granted(self, key, **more):
        left = seconds_left(key)
        return reply(dict({"access_token": key.id, "token_type": "Bearer", "expires_in":
                           str(left) if self.settings["expires_text"] else left}, **more))


class OAuth2(OAuth):
    name = "oauth2"
    hosts = (r"oauth2\.googleapis\.com",)
    routes = (("POST", "/token", "Token"), ("POST", "/tokeninfo", "TokenInfo"))

    def do_token_info(self, request):
        key = self.world.key("google", request.form().get("access_token", ""))
        if key is None or key.expired(request.clock()):
            raise Failure(400, "invalid_token", "Invalid Value")
        more = {"email": key.arn} if "@" in key.arn else {}
        return reply(dict({"scope": "https://www.googleapis.com/auth/cloud-platform",
                           "expires_in": str(seconds_left(key))}, **more))

    def do_token(self, request):
        asked = request.form()
        if request.get("content-type", "").partition(";")[0] != \
                "application/x-www-form-urlencoded":
            raise Failure(400, "invalid_request", "The content type is another")
        if asked.get("grant_type") == JWT_BEARER:
            return self.for_account(request, asked)
        if asked.get("grant_type") == "refresh_token":
            return self.for_user(asked)
        raise Failure(400, "unsupported_grant_type", "Invalid grant_type: %s"
                      % asked.get("grant_type"))

    def for_account(self, request, asked):
        claims = check_jwt(self.world, asked.get("assertion", ""), request.clock())
        if claims.get("aud") != AUDIENCE:
            raise GoogleError(400, "invalid_grant", "Invalid JWT: Failed audience check.")
        if not claims.get("scope"):
            raise GoogleError(400, "invalid_scope", "Empty or missing scope not allowed.")
        return self.granted(issue(self.world, claims.get("sub") or claims["iss"]))

    def for_user(self, asked):
        for client in self.world.config["google"]["clients"]:
            if client["id"] == asked.get("client_id"):
                break
        else:
            raise Failure(401, "invalid_client", "The OAuth client was not found.")
        if client["secret"] != asked.get("client_secret"):
            raise Failure(401, "invalid_client", "Unauthorized")
        if client["refresh_token"] != asked.get("refresh_token"):
            raise Failure(400, "invalid_grant", "Token has been expired or revoked.")
        if client.get("login_again"):
            raise Failure(400, "invalid_grant", "reauth related error (invalid_rapt)",
                          error_subtype="invalid_rapt")
        return self.granted(issue(self.world, client.get("email", "user@example.com")),
                            scope="https://www.googleapis.com/auth/cloud-platform")


class GoogleSts(OAuth):
    name = "google_sts"
    hosts = (r"sts\.googleapis\.com",)
    routes = (("POST", "/v1/token", "Exchange"),)

    def do_exchange(self, request):
        asked, google = request.form(), self.world.config["google"]
        if asked.get("grant_type") != EXCHANGE or \
                asked.get("requested_token_type") != ACCESS or not asked.get("scope"):
            raise Failure(400, "invalid_request", "Invalid value for \"grant_type\", "
                          "\"requested_token_type\" or \"scope\".")
        if any(v == "" for v in asked.values()):
            raise Failure(400, "invalid_request", "Empty fields are to be left out")
        audience = asked.get("audience", "")
        if not audience.startswith("//iam.googleapis.com/") or \
                google.get("audience", audience) != audience:
            raise Failure(400, "invalid_target", "The target service indicated by the "
                          "\"audience\" parameters is invalid.")
        self.check_client(request, google)
        kind, token = asked.get("subject_token_type"), asked.get("subject_token", "")
        if kind == AWS:
            subject = self.aws_subject(token, audience, request.clock())
        elif kind in JWTS:
            subject = self.web_subject(token, request.clock())
        else:
            raise Failure(400, "invalid_request", "Invalid subject_token_type")
        return self.granted(issue(self.world, "principal:%s/subject/%s" %
                                  (audience, subject)), issued_token_type=ACCESS)

    def check_client(self, request, google):
        client = google.get("sts_client")
        if client is None:
            return
        given = request.get("authorization", "").partition(" ")[2]
        if base64.b64decode(given) != ("%s:%s" % (client["id"], client["secret"])).encode():
            raise Failure(401, "invalid_client", "The client is unknown.")

    def web_subject(self, token, now):
        claims = self.world.web_token("google", token, now)
        if claims == "expired":
            raise Failure(400, "invalid_grant", "ID Token issued is stale to sign-in.")
        if claims is None:
            raise Failure(400, "invalid_grant", "Unable to parse the ID Token.")
        return claims.get("sub", "fake")

    def aws_subject(self, token, audience, now):
        """The token is a signed GetCallerIdentity, which Google sends on to AWS."""
        try:
            value = json.loads(decode(token))
            headers = [(h["key"].lower(), h["value"]) for h in value["headers"]]
            host, _, path = value["url"].partition("://")[2].partition("/")
        except (ValueError, KeyError, TypeError):
            raise Failure(400, "invalid_grant", "Unable to parse the AWS token.") from None
        if "?" in host:
            host, _, query = host.partition("?")
            path = "?" + query
        if dict(headers).get("x-goog-cloud-target-resource") != audience:
            raise Failure(400, "invalid_grant", "The x-goog-cloud-target-resource header is "
                          "missing or another than the audience.")
        # As Google takes it: this one header need not be signed.
        signed = dict(headers).get("authorization", "").partition("SignedHeaders=")[2]
        names = signed.partition(",")[0].split(";")
        sent = [(n, v) for n, v in headers if n in names or not n.startswith("x-goog-")]
        inner = Request(value["method"], "/" + path, sent, True)
        if inner.get("host", host) != host or not host.startswith("sts."):
            raise Failure(400, "invalid_grant", "The AWS token is for another host.")
        try:
            signature = sigv4.Signature(inner)
            signature.check_time(now)
            signature.check_headers()
            key = sigv4.identify(self.world, signature, now)
            signature.check(key.secret, sigv4.EMPTY, s3=False)
        except Failure as failed:
            raise Failure(400, "invalid_grant", "Received an error from AWS STS: "
                          + failed.code) from None
        if inner.args().get("Action") != "GetCallerIdentity" or signature.service != "sts":
            raise Failure(400, "invalid_grant", "The AWS token is for another action.")
        return key.arn


class IamCredentials(Google):
    name = "iamcredentials"
    hosts = (r"iamcredentials\.googleapis\.com",)
    routes = (("POST", r"/v1/projects/-/serviceAccounts/([^/:]+):generateAccessToken",
               "GenerateAccessToken"),)

    def authenticate(self, request):
        bearer(self.world, request, "iamcredentials")

    def do_generate_access_token(self, request):
        email, asked = decode(request.match.group(1)), document(request)
        known = account(self.world, email)
        callers = (known or {}).get("impersonators")
        denied = "iam.serviceAccounts.getAccessToken" in request.identity.deny
        if known is None or denied or (callers and request.identity.arn not in callers):
            raise GoogleError(403, "PERMISSION_DENIED", "Permission "
                              "'iam.serviceAccounts.getAccessToken' denied on resource (or "
                              "it may not exist).", "IAM_PERMISSION_DENIED")
        life = asked.get("lifetime", "3600s")
        if not asked.get("scope") or not isinstance(asked["scope"], list):
            raise GoogleError(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
        if not life.endswith("s") or not life[:-1].isdigit() or \
                not 0 < int(life[:-1]) <= known.get("max_lifetime", 3600):
            raise GoogleError(400, "INVALID_ARGUMENT", "The lifetime of the token is invalid.")
        key = issue(self.world, email, int(life[:-1]))
        return reply({"accessToken": key.id, "expireTime": sigv4.iso(key.expires)})
