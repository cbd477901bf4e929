"""What a role needs for a call: each thing that the call touches is asked for by its own,
with the condition keys that AWS has for it (its service authorization reference), and all
of them must be allowed."""


def partition(region):
    return "aws-cn" if region.startswith("cn-") else \
        "aws-us-gov" if region.startswith("us-gov-") else "aws"


class Needs:
    """Of one call: (action, ARN, context), collected until refused() judges them."""

    def __init__(self, world, region):
        self.world, self.region = world, region
        self.account = world.config["aws"]["account"]
        self.found = []

    def arn(self, service, rest, account=None, region=None):
        return "arn:%s:%s:%s:%s:%s" % (
            partition(self.region), service, self.region if region is None else region,
            self.account if account is None else account, rest)

    def add(self, action, arn, given=None, has=None, **more):
        """`given`: tags that the call gives the thing; `has`: those that it bears."""
        context = {"aws:RequestTag/" + k: v for k, v in (given or {}).items()}
        context.update(("aws:ResourceTag/" + k, v) for k, v in (has or {}).items())
        context.update((k.replace("__", ":"), v) for k, v in more.items())
        context["aws:RequestedRegion"] = self.region
        self.found.append((action, arn, context))

    def ec2(self, action, thing, **more):
        self.add("ec2:" + action, self.arn("ec2", thing), **more)

    def tagging(self, action, kind, tags):
        """What is tagged as it is made."""
        if tags:
            self.ec2("CreateTags", kind + "/*", given=tags, ec2__CreateAction=action)

    def refused(self, key):
        """The first (action, ARN) that the caller's role does not allow, or None."""
        role = self.world.iam.role_of(key.arn)
        if role is None:  # a user, who is let do all but what `deny` names
            return None
        for action, arn, context in self.found:
            if role.verdict(action, arn, context) != "Allow":
                return action, arn
        return None
