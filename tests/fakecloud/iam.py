"""AWS Identity and Access Management: roles, their inline policies, instance profiles.

What was made a moment ago is not seen for `iam_delay` seconds, neither here nor by EC2.
"""
import re
import secrets
import threading
import time
from urllib.parse import quote

from . import policy
from .http1 import Failure
from .query import Query
from .sigv4 import iso
from .xmltext import element

HOMES = {"us-east-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov"}
NAME = r"[\w+=,.@-]{1,%d}"


class Thing:
    def __init__(self, name, partition, tags):
        self.name, self.partition, self.tags = name, partition, tags
        self.made = time.time()
        self.id = secrets.token_hex(9).upper()


class Role(Thing):
    def __init__(self, name, partition, tags, trust):
        super().__init__(name, partition, tags)
        self.trust, self.policies = trust, {}

    def verdict(self, action, resource, context):
        found = [policy.verdict(d, action, resource, context) for d in self.policies.values()]
        return "Deny" if "Deny" in found else "Allow" if "Allow" in found else None


class Profile(Thing):
    def __init__(self, name, partition, tags):
        super().__init__(name, partition, tags)
        self.role = None


class Account:
    """What was made in IAM."""

    def __init__(self, world):
        self.world = world
        self.lock = threading.RLock()
        self.roles, self.profiles = {}, {}

    def seen(self, thing):
        return thing is not None and \
            time.time() - thing.made >= self.world.settings["iam_delay"]

    def role_of_profile(self, name):
        """For EC2: the role of a profile that is seen; None."""
        found = self.profiles.get(name)
        return found.role if self.seen(found) and found.role in self.roles else None

    def role_of(self, arn):
        """That of an assumed role's session; None."""
        match = re.fullmatch(r"arn:[a-z-]+:sts::\d{12}:assumed-role/([^/]+)/.*", arn or "")
        return self.roles.get(match.group(1)) if match else None

    def describe(self):
        return {"roles": {r.name: {"trust": r.trust, "tags": r.tags, "policies": r.policies}
                          for r in self.roles.values()},
                "profiles": {p.name: {"role": p.role, "tags": p.tags}
                             for p in self.profiles.values()}}


def missing(kind, name):
    return Failure(404, "NoSuchEntity", "The %s with name %s cannot be found." % (kind, name))


def exists(kind, name):
    return Failure(409, "EntityAlreadyExists", "%s with name %s already exists." % (kind, name))


class Iam(Query):
    name = signs = "iam"
    version = "2010-05-08"
    xmlns = "https://iam.amazonaws.com/doc/2010-05-08/"
    hosts = (r"iam(\.us-gov|\.cn-north-1)?\.amazonaws\.com(\.cn)?",)
    region_of_host = re.compile(r"iam\.(?P<region>cn-north-1)\.amazonaws\.com\.cn")

    @property
    def account(self):
        return self.world.iam

    def check_permission(self, request, key):
        if request.bucket not in HOMES:
            raise self.wrong_signature("Credential should be scoped to a valid region.")
        args = request.parameters
        name = args.get("RoleName") or args.get("InstanceProfileName") or "*"
        action = "iam:" + request.operation
        if action in key.deny:
            raise self.denied(key, action, "arn:aws:iam::%s:role/%s"
                              % (self.world.config["aws"]["account"], name))
        role = self.account.role_of(key.arn)
        if role and role.verdict(action, "*", {}) != "Allow":
            raise self.denied(key, action, name)

    def handle(self, request):
        with self.account.lock:
            return super().handle(request)

    # -- what is asked for

    def named(self, args, field, longest=64):
        found = args.get(field, "")
        if not re.fullmatch(NAME % longest, found, re.ASCII):
            raise Failure(400, "ValidationError", "1 validation error detected: Value '%s' at "
                          "'%s' failed to satisfy constraint" % (found, field))
        return found

    def tags(self, args):
        found, n = {}, 1
        while "Tags.member.%d.Key" % n in args:
            key = args["Tags.member.%d.Key" % n]
            if key in found or not 1 <= len(key) <= 128 or key.lower().startswith("aws:"):
                raise Failure(400, "InvalidInput", "Duplicate or bad tag keys found.")
            found[key] = args.get("Tags.member.%d.Value" % n, "")
            n += 1
        return found

    def role(self, args):
        found = self.account.roles.get(self.named(args, "RoleName"))
        if not self.account.seen(found):
            raise missing("role", args["RoleName"])
        return found

    def profile(self, args):
        """What the configuration says that EC2 has is seen here as well."""
        name = self.named(args, "InstanceProfileName", 128)
        found = self.account.profiles.get(name)
        if found is None and name in self.world.config["ec2"]["profiles"]:
            found = Profile(name, HOMES["us-east-1"], {})
            found.made, found.role = 0, name
        if not self.account.seen(found):
            raise Failure(404, "NoSuchEntity", "Instance Profile %s cannot be found."
                          % args["InstanceProfileName"])
        return found

    # -- answers

    def arn(self, kind, thing):
        return "arn:%s:iam::%s:%s/%s" % (thing.partition,
                                         self.world.config["aws"]["account"], kind, thing.name)

    def shown(self, role):
        tags = [element("member", ("Key", k), ("Value", v)) for k, v in role.tags.items()]
        return [("Path", "/"), ("RoleName", role.name), ("RoleId", "AROA" + role.id),
                ("Arn", self.arn("role", role)), ("CreateDate", iso(role.made)),
                ("AssumeRolePolicyDocument", quote(policy.told(role.trust), safe="")),
                ("MaxSessionDuration", "3600")] + ([element("Tags", *tags)] if tags else [])

    def shown_profile(self, found):
        role = self.account.roles.get(found.role)
        if found.role and role is None:
            role = Role(found.role, found.partition, {}, {})
        roles = [element("member", *self.shown(role))] if role else []
        tags = [element("member", ("Key", k), ("Value", v)) for k, v in found.tags.items()]
        return element("InstanceProfile", ("Path", "/"),
                       ("InstanceProfileName", found.name),
                       ("InstanceProfileId", "AIPA" + found.id),
                       ("Arn", self.arn("instance-profile", found)),
                       ("CreateDate", iso(found.made)), element("Roles", *roles),
                       *([element("Tags", *tags)] if tags else []))

    # -- roles

    def do_create_role(self, request, args):
        name = self.named(args, "RoleName")
        if name in self.account.roles:
            raise exists("Role", name)
        trust = policy.parse(args.get("AssumeRolePolicyDocument", ""),
                             "MalformedPolicyDocument", True)
        made = Role(name, HOMES[request.bucket], self.tags(args), trust)
        self.account.roles[name] = made
        return [element("Role", *self.shown(made))]

    def do_get_role(self, request, args):
        return [element("Role", *self.shown(self.role(args)))]

    def do_tag_role(self, request, args):
        self.role(args).tags.update(self.tags(args))
        return []

    def do_update_assume_role_policy(self, request, args):
        self.role(args).trust = policy.parse(args.get("PolicyDocument", ""),
                                             "MalformedPolicyDocument", True)
        return []

    def do_delete_role(self, request, args):
        found = self.role(args)
        if found.policies:
            raise Failure(409, "DeleteConflict", "Cannot delete entity, must delete policies "
                          "first.")
        if any(p.role == found.name for p in self.account.profiles.values()):
            raise Failure(409, "DeleteConflict", "Cannot delete entity, must remove roles from "
                          "instance profile first.")
        del self.account.roles[found.name]
        return []

    def do_put_role_policy(self, request, args):
        found, name = self.role(args), self.named(args, "PolicyName", 128)
        text = args.get("PolicyDocument", "")
        found.policies[name] = policy.parse(text, "MalformedPolicyDocument", False, "")
        if sum(len(policy.told(d)) for d in found.policies.values()) > 10240:
            del found.policies[name]
            raise Failure(409, "LimitExceeded", "Maximum policy size of 10240 bytes exceeded "
                          "for role " + found.name)
        return []

    def held(self, args):
        found, name = self.role(args), self.named(args, "PolicyName", 128)
        if name not in found.policies:
            raise Failure(404, "NoSuchEntity", "The role policy with name %s cannot be found."
                          % name)
        return found, name

    def do_get_role_policy(self, request, args):
        found, name = self.held(args)
        return [("RoleName", found.name), ("PolicyName", name),
                ("PolicyDocument", quote(policy.told(found.policies[name]), safe=""))]

    def do_delete_role_policy(self, request, args):
        found, name = self.held(args)
        del found.policies[name]
        return []

    def do_list_role_policies(self, request, args):
        names = [element("member", n) for n in sorted(self.role(args).policies)]
        return [element("PolicyNames", *names), ("IsTruncated", "false")]

    # -- instance profiles

    def do_create_instance_profile(self, request, args):
        name = self.named(args, "InstanceProfileName", 128)
        if name in self.account.profiles:
            raise Failure(409, "EntityAlreadyExists", "Instance Profile %s already exists."
                          % name)
        made = Profile(name, HOMES[request.bucket], self.tags(args))
        self.account.profiles[name] = made
        return [self.shown_profile(made)]

    def do_get_instance_profile(self, request, args):
        return [self.shown_profile(self.profile(args))]

    def do_add_role_to_instance_profile(self, request, args):
        found, role = self.profile(args), self.role(args)
        if found.role:
            raise Failure(409, "LimitExceeded", "Cannot exceed quota for "
                          "InstanceSessionsPerInstanceProfile: 1")
        found.role = role.name
        return []

    def do_remove_role_from_instance_profile(self, request, args):
        found, name = self.profile(args), self.named(args, "RoleName")
        if found.role != name:
            raise missing("role", name)
        found.role = None
        return []

    def do_delete_instance_profile(self, request, args):
        found = self.profile(args)
        if found.role:
            raise Failure(409, "DeleteConflict", "Cannot delete entity, must remove roles from "
                          "instance profile first.")
        del self.account.profiles[found.name]
        return []
