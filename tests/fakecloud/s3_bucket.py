"""What S3 keeps about a bucket: who may open it, encryption, lifecycle, policy, tags; and
what follows from the policy for who asks."""
import json
import re

from . import policy, xmltext
from .http1 import Answer, Failure
from .rights import partition

# Sub-resource -> (name in operations, action in policies, what is missing where it was
# never put, root of the XML)
KEPT = {
    "publicAccessBlock": ("PublicAccessBlock", "BucketPublicAccessBlock",
                          "NoSuchPublicAccessBlockConfiguration",
                          "PublicAccessBlockConfiguration"),
    "encryption": ("BucketEncryption", "EncryptionConfiguration",
                   "ServerSideEncryptionConfigurationNotFoundError",
                   "ServerSideEncryptionConfiguration"),
    "lifecycle": ("BucketLifecycleConfiguration", "LifecycleConfiguration",
                  "NoSuchLifecycleConfiguration", "LifecycleConfiguration"),
    "policy": ("BucketPolicy", "BucketPolicy", "NoSuchBucketPolicy", None),
    "tagging": ("BucketTagging", "BucketTagging", "NoSuchTagSet", "Tagging"),
}
NAMES = {verb + v[0]: (verb, k) for k, v in KEPT.items() for verb in ("Get", "Put", "Delete")}
BLOCKS = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
CREATES = {"PutObject": "true", "CompleteMultipartUpload": "true", "CopyObject": "true",
           "CreateMultipartUpload": "false", "UploadPart": "false", "UploadPartCopy": "false"}
LIFE_ACTIONS = ("Expiration", "Transition", "AbortIncompleteMultipartUpload",
                "NoncurrentVersionExpiration", "NoncurrentVersionTransition")


def fresh():
    """What a bucket has from its birth, since April 2023."""
    block = "".join("<%s>true</%s>" % (b, b) for b in BLOCKS)
    return {"publicAccessBlock": block, "encryption": "<Rule><ApplyServerSideEncryption"
            "ByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault>"
            "<BucketKeyEnabled>false</BucketKeyEnabled></Rule>"}


def action_of(operation):
    """s3:PutLifecycleConfiguration for PutBucketLifecycleConfiguration, ...; or None."""
    if operation not in NAMES:
        return None
    verb, what = NAMES[operation]
    if verb == "Delete" and what != "policy":
        verb = "Put"
    return "s3:" + verb + KEPT[what][1]


def inner(tree):
    """The content of an element, as text."""
    def write(item):
        if len(item):
            return "<%s>%s</%s>" % (item.tag, "".join(map(write, item)), item.tag)
        return "<%s>%s</%s>" % (item.tag, xmltext.escape(item.text or ""), item.tag)
    return "".join(map(write, tree))


class BucketSettings:
    """A part of S3."""

    def bucket_operation(self, method, args):
        for what, (name, *_) in KEPT.items():
            if what in args and method in ("GET", "PUT", "DELETE"):
                return method.capitalize() + name
        return super().bucket_operation(method, args)

    def handle(self, request):
        if request.operation not in NAMES:
            return super().handle(request)
        verb, what = NAMES[request.operation]
        bucket = self.bucket(request)
        with bucket.lock:
            if verb == "Get":
                return self.finish(request, self.give(bucket, what))
            if verb == "Put":
                bucket.kept[what] = self.take(request, bucket, what)
                return self.finish(request, Answer(204 if what == "policy" else 200))
            bucket.kept.pop(what, None)
            return self.finish(request, Answer(204))

    def give(self, bucket, what):
        _, _, missing, root = KEPT[what]
        if what not in bucket.kept:
            raise Failure(404, missing, "The %s does not exist" % what,
                          BucketName=bucket.name)
        if what == "policy":
            return Answer(200, [], policy.told(bucket.kept[what]).encode(),
                          "application/json")
        return xmltext.answer(root, xmltext.Raw(bucket.kept[what]), xmlns=self.xmlns)

    def take(self, request, bucket, what):
        body = bytes(request.body)
        if request.get("content-md5") is None and not self.has_checksum(request):
            raise Failure(400, "InvalidRequest", "Missing required header for this request: "
                          "Content-MD5")
        self.checksums(request, request.body)
        if what == "policy":
            return self.take_policy(request, bucket, body)
        tree = xmltext.parse(body, KEPT[what][3])
        getattr(self, "check_" + what.lower())(tree)
        return inner(tree)

    def take_policy(self, request, bucket, body):
        arn = "arn:%s:s3:::%s" % (partition(bucket.region), bucket.name)
        return policy.parse(body.decode("utf-8", "replace"), "MalformedPolicy", True, arn)

    def check_publicaccessblock(self, tree):
        for item in tree:
            if item.tag not in BLOCKS or item.text not in ("true", "false"):
                raise xmltext.malformed()

    def check_encryption(self, tree):
        found = [r.findtext("ApplyServerSideEncryptionByDefault/SSEAlgorithm")
                 for r in tree.findall("Rule")]
        if len(found) != 1 or found[0] not in ("AES256", "aws:kms", "aws:kms:dsse"):
            raise xmltext.malformed()

    def check_lifecycle(self, tree):
        ids = [r.findtext("ID") for r in tree.findall("Rule")]
        if not ids or len(set(ids)) != len(ids):
            raise Failure(400, "InvalidArgument", "Rule ID must be unique. Found same ID for "
                          "more than one rule")
        for rule in tree.findall("Rule"):
            days = rule.findtext("AbortIncompleteMultipartUpload/DaysAfterInitiation")
            if rule.findtext("Status") not in ("Enabled", "Disabled") or \
                    (rule.find("Filter") is None) == (rule.find("Prefix") is None) or \
                    not any(rule.find(a) is not None for a in LIFE_ACTIONS) or \
                    len(rule.findtext("ID") or "") > 255:
                raise xmltext.malformed()
            if days is not None and not re.fullmatch("[1-9][0-9]{0,5}", days):
                raise Failure(400, "InvalidArgument", "'DaysAfterInitiation' for "
                              "AbortIncompleteMultipartUpload action must be a positive "
                              "integer")

    def check_tagging(self, tree):
        keys = [t.findtext("Key") for t in tree.findall("TagSet/Tag")]
        if not all(keys) or len(set(keys)) != len(keys) or len(keys) > 50:
            raise Failure(400, "InvalidTag", "The tag provided was not a valid tag")

    # -- who may do what

    def context(self, request, key):
        args = request.args()
        role = self.world.iam.role_of(key.arn)
        found = {"aws:SourceIp": self.settings["source_ip"], "aws:ViaAWSService": "false",
                 "aws:SecureTransport": "true" if request.tls else "false",
                 "aws:PrincipalArn": key.arn if role is None else "arn:%s:iam::%s:role/%s" % (
                     role.partition, self.world.config["aws"]["account"], role.name),
                 "s3:if-none-match": request.get("if-none-match"),
                 "s3:ObjectCreationOperation": CREATES.get(request.operation)}
        if request.operation in ("ListObjectsV2", "ListObjects", "ListMultipartUploads"):
            found["s3:prefix"] = args.get("prefix")
        return found

    def refusal(self, request, key, action, name):
        """Why a request is refused by who owns the bucket or who asks; or None."""
        bucket = self.namespace.find(request.bucket)
        account = self.world.config["aws"]["account"]
        owner = request.get("x-amz-expected-bucket-owner")
        if bucket is not None and request.operation != "CreateBucket":
            if bucket.owner not in (None, account) or owner not in (
                    None, bucket.owner or account):
                return "Access Denied"
        home = partition(bucket.region) if bucket is not None else "aws"
        arn = "arn:%s:s3:::%s%s" % (home, request.bucket or "*",
                               "/" + name if name else "")
        context = self.context(request, key)
        if bucket is not None and "policy" in bucket.kept and policy.verdict(
                bucket.kept["policy"], action, arn, context) == "Deny":
            return "with an explicit deny in a resource-based policy"
        role = self.world.iam.role_of(key.arn)
        if role is not None and role.verdict(action, arn, context) != "Allow":
            return "because no identity-based policy allows the %s action" % action
        return None

    def dumped(self, bucket):
        """For tests."""
        return {k: v if k != "policy" else json.loads(policy.told(v))
                for k, v in bucket.kept.items()}
