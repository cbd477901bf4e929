"""Auto Scaling, API version 2011-01-01: groups of one launch template."""
import base64
import re

from .ec2_account import fits
from .ec2_groups import ScalingGroup, seconds, wrong
from .ec2_rights import of_launch
from .http1 import Failure
from .query import Parameters, Query
from .sigv4 import iso
from .xmltext import element

LONGEST_NAME = 255


class AutoScaling(Query):
    name = "auto_scaling"
    signs = "autoscaling"
    version = "2011-01-01"
    xmlns = "http://autoscaling.amazonaws.com/doc/2011-01-01/"
    hosts = (r"autoscaling\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",)
    region_of_host = re.compile(r"autoscaling\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")

    @property
    def book(self):
        return self.world.ec2

    def work(self, request):
        found = super().work(request)

        def work(request, args):
            p = Parameters(args)
            for name in ("Action", "Version"):
                p.text(name)
            self.book.region(request.bucket)
            with self.book.lock:
                return found(request, p)
        return work

    def needs(self, request):
        found, args = super().needs(request), request.parameters
        action, name = "autoscaling:" + request.operation, args.get("AutoScalingGroupName", "")
        if request.operation.startswith("Describe"):
            found.add(action, "*")
            return found
        if request.operation == "TerminateInstanceInAutoScalingGroup":
            name = next((g.name for g in self.book.scaling.values() for m in g.machines
                         if m.id == args.get("InstanceId")), "")
        arn = found.arn("autoscaling", "autoScalingGroup:*:autoScalingGroupName/" + name)
        group = self.book.scaling.get((request.bucket, name))
        has = {t["key"]: t["value"] for t in group.tags} if group else {}
        if request.operation != "CreateAutoScalingGroup":
            if group:  # else the call itself says that there is none
                found.add(action, arn, has=has)
            return found
        p = Parameters(args)
        given = {t["key"]: t["value"] for t in self.read_tags(p, name)}
        found.add(action, arn, given=given)
        if given:
            found.add("autoscaling:CreateOrUpdateTags", arn, given=given)
        template = self.template(request, p.group("LaunchTemplate"))
        zone = self.zones(request, p)[0]
        of_launch(found, template.ask(self.book, request.bucket, zone), template.id)
        return found

    def done(self, p):
        left = p.unread()
        if left:
            raise wrong("1 validation error detected: %s is no parameter" % left[0])

    def group(self, request, p):
        name = p.text("AutoScalingGroupName") or ""
        found = self.book.scaling.get((request.bucket, name))
        if found is None:
            raise wrong("AutoScalingGroup name not found - %s" % name)
        return found

    # -- groups

    def do_create_auto_scaling_group(self, request, p):
        name = p.text("AutoScalingGroupName") or ""
        if not 1 <= len(name) <= LONGEST_NAME or ":" in name:
            raise wrong("AutoScalingGroupName is not valid")
        made = ScalingGroup(self.book, request.bucket, name)
        low, high = p.number("MinSize", None, 0), p.number("MaxSize", None, 0)
        if low is None or high is None:
            raise wrong("MinSize and MaxSize are required")
        made.resize(low, high, p.number("DesiredCapacity", low, 0))
        made.template = self.template(request, p.group("LaunchTemplate"))
        made.zones = self.zones(request, p)
        made.tags = self.read_tags(p, name)
        for flag in ("CapacityRebalance", "NewInstancesProtectedFromScaleIn"):
            p.flag(flag)
        for number in ("HealthCheckGracePeriod", "DefaultCooldown"):
            p.number(number)
        p.texts("TerminationPolicies.member")
        self.done(p)
        key = request.bucket, name
        if key in self.book.scaling:
            raise Failure(400, "AlreadyExists", "AutoScalingGroup by this name already exists "
                          "- A group with the name %s already exists" % name)
        self.book.scaling[key] = made
        made.tick()
        return []

    def template(self, request, p):
        ident, name = p.text("LaunchTemplateId"), p.text("LaunchTemplateName")
        version = p.text("Version", "$Default")
        if version not in ("1", "$Default", "$Latest"):
            raise wrong("Could not find launch template version " + version)
        for found in self.book.region(request.bucket).templates.values():
            if (ident or name) and ident in (None, found.id) and name in (None, found.name):
                return found
        raise wrong("You must use a valid fully-formed launch template. The specified launch "
                    "template, with template name %s, does not exist." % (ident or name))

    def zones(self, request, p):
        account = self.book.region(request.bucket)
        found = p.texts("AvailabilityZones.member")
        for ident in filter(None, (p.text("VPCZoneIdentifier") or "").split(",")):
            subnet = account.subnet(ident.strip())
            if subnet is None:
                raise wrong("The subnet ID '%s' does not exist" % ident)
            found.append(subnet.zone)
        if not found or not set(found) <= set(account.zones):
            raise wrong("At least one Availability Zone or VPC Subnet is required.")
        return found

    def read_tags(self, p, name):
        found = []
        for tag in p.groups("Tags.member"):
            if tag.text("ResourceId", name) != name or \
                    tag.text("ResourceType", "auto-scaling-group") != "auto-scaling-group":
                raise wrong("Tag resource is not the group")
            key, value = tag.text("Key") or "", tag.text("Value", "")
            if not 1 <= len(key) <= 128 or len(value) > 256 or key.startswith("aws:"):
                raise wrong("Tag key or value is not valid")
            found.append({"key": key, "value": value,
                          "propagate": tag.flag("PropagateAtLaunch")})
        return found

    def do_describe_auto_scaling_groups(self, request, p):
        names = p.texts("AutoScalingGroupNames.member")
        filters = [(f.text("Name") or "", f.texts("Values.member"))
                   for f in p.groups("Filters.member")]
        found = [g for (region, _), g in sorted(self.book.scaling.items())
                 if region == request.bucket and (not names or g.name in names) and
                 all(has(g, *f) for f in filters)]
        found, more = pages(p, found)
        self.done(p)
        return [element("AutoScalingGroups", *[shown(g) for g in found]), ("NextToken", more)]

    def do_update_auto_scaling_group(self, request, p):
        group = self.group(request, p)
        sizes = [p.number(n, None, 0) for n in ("MinSize", "MaxSize", "DesiredCapacity")]
        p.flag("CapacityRebalance")
        self.done(p)
        self.check_whole(group)
        group.resize(*sizes)
        return []

    def do_set_desired_capacity(self, request, p):
        group, size = self.group(request, p), p.number("DesiredCapacity", None, 0)
        p.flag("HonorCooldown")
        self.done(p)
        self.check_whole(group)
        group.resize(None, None, size)
        return []

    def do_delete_auto_scaling_group(self, request, p):
        group, force = self.group(request, p), p.flag("ForceDelete")
        self.done(p)
        if group.status is None:
            group.delete(force)
        return []

    def check_whole(self, group):
        if group.status:
            raise Failure(400, "ScalingActivityInProgress", "You cannot update or resize a "
                          "group that is being deleted")

    # -- what it does when

    def do_put_scheduled_update_group_action(self, request, p):
        group, name = self.group(request, p), p.text("ScheduledActionName") or ""
        start = p.text("StartTime")
        action = {"low": p.number("MinSize", None, 0), "high": p.number("MaxSize", None, 0),
                  "desired": p.number("DesiredCapacity", None, 0),
                  "start": seconds(start or "")}
        self.done(p)
        if not name:
            raise wrong("ScheduledActionName is required")
        if action["start"] <= self.world.clock():
            raise wrong("Given start time is in the past")
        group.actions[name] = action
        return []

    def do_describe_scheduled_actions(self, request, p):
        name = p.text("AutoScalingGroupName")
        wanted = p.texts("ScheduledActionNames.member")
        found = [(g, n, a) for (region, _), g in sorted(self.book.scaling.items())
                 for n, a in sorted(g.actions.items())
                 if region == request.bucket and name in (None, g.name) and
                 (not wanted or n in wanted)]
        found, more = pages(p, found)
        self.done(p)
        return [element("ScheduledUpdateGroupActions", *[element(
            "member", ("AutoScalingGroupName", g.name), ("ScheduledActionName", n),
            ("StartTime", iso(a["start"])), ("MinSize", a["low"]), ("MaxSize", a["high"]),
            ("DesiredCapacity", a["desired"])) for g, n, a in found]), ("NextToken", more)]

    def do_describe_scaling_activities(self, request, p):
        group = self.group(request, p)
        found, more = pages(p, group.activities[::-1])
        self.done(p)
        return [element("Activities", *[activity(group, a) for a in found]),
                ("NextToken", more)]

    def do_terminate_instance_in_auto_scaling_group(self, request, p):
        ident, less = p.text("InstanceId") or "", p.text("ShouldDecrementDesiredCapacity")
        self.done(p)
        if (less or "").lower() not in ("true", "false"):
            raise wrong("ShouldDecrementDesiredCapacity is required")
        for group in self.book.scaling.values():
            for machine in group.living():
                if machine.id == ident and group.region == request.bucket:
                    if less.lower() == "true":
                        group.resize(None, None, group.desired - 1)
                    group.terminate(machine, "a user request")
                    return [activity(group, group.activities[-1], "Activity")]
        raise wrong("Instance Id not found - No managed instance found for instance ID "
                    + ident)


def has(group, name, values):
    """A filter of DescribeAutoScalingGroups."""
    if name == "tag-key":
        told = [t["key"] for t in group.tags]
    elif name.startswith("tag:"):
        told = [t["value"] for t in group.tags if t["key"] == name[4:]]
    else:
        raise wrong("Filter type %s is not correct." % name)
    return any(fits(v, t) for v in values for t in told)


def pages(p, found):
    size, token = p.number("MaxRecords", 50, 1, 100), p.text("NextToken")
    try:
        start = int(base64.urlsafe_b64decode((token or "MA==").encode()).decode())
    except ValueError:
        raise Failure(400, "InvalidNextToken", "The token is not valid.") from None
    more = base64.urlsafe_b64encode(b"%d" % (start + size)).decode() \
        if start + size < len(found) else None
    return found[start:start + size], more


def shown(g):
    states = {True: "InService", False: "Terminating"}
    living = g.living()
    return element(
        "member", ("AutoScalingGroupName", g.name),
        ("AutoScalingGroupARN", "arn:aws:autoscaling:%s:123456789012:autoScalingGroup:0:"
         "autoScalingGroupName/%s" % (g.region, g.name)),
        element("LaunchTemplate", ("LaunchTemplateId", g.template.id),
                ("LaunchTemplateName", g.template.name), ("Version", "1")),
        ("MinSize", g.low), ("MaxSize", g.high), ("DesiredCapacity", g.desired),
        ("DefaultCooldown", "300"), ("HealthCheckType", "EC2"),
        ("HealthCheckGracePeriod", "0"), ("CreatedTime", iso(g.created)),
        element("AvailabilityZones", *[("member", z) for z in g.zones]),
        element("Instances", *[element(
            "member", ("InstanceId", m.id), ("InstanceType", m.type.name),
            ("AvailabilityZone", m.zone), ("LifecycleState", states[m in living]),
            ("HealthStatus", "Healthy"), ("ProtectedFromScaleIn", "false"))
            for m in g.machines]),
        element("Tags", *[element(
            "member", ("ResourceId", g.name), ("ResourceType", "auto-scaling-group"),
            ("Key", t["key"]), ("Value", t["value"]),
            ("PropagateAtLaunch", str(t["propagate"]).lower())) for t in g.tags]),
        ("Status", g.status), ("CapacityRebalance", "false"))


def activity(group, a, name="member"):
    return element(name, ("ActivityId", a["id"]), ("AutoScalingGroupName", group.name),
                   ("Description", a["what"]), ("Cause", "At %s %s." % (iso(a["at"]), a["why"])),
                   ("StartTime", iso(a["at"])), ("EndTime", iso(a["at"])),
                   ("StatusCode", a["status"]), ("StatusMessage", a["text"]),
                   ("Progress", "100"))
