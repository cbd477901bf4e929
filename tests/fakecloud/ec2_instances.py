"""EC2: the life of instances."""
import base64
import re
import secrets
import time

from . import ec2_machines as life
from .ec2_pages import Filters, page, tag_set, tags_of
from .ec2_run import Asked, read_tags
from .http1 import Failure
from .sigv4 import iso
from .xmltext import element

FILTERS = ("instance-state-name", "tag:", "tag-key", "client-token", "instance-lifecycle",
           "instance-type", "subnet-id", "availability-zone", "instance-id", "vpc-id",
           "instance.group-id")


def state(name, code):
    return element(name, ("code", code), ("name", life.NAMES[code]))


def some(*items):
    return [i for i in items if i is not None]


def transition(m):
    """Why the state changed: with the time where somebody asked for it."""
    if m.reason[0] != "Client.UserInitiatedShutdown":
        return ""
    return time.strftime("User initiated (%Y-%m-%d %H:%M:%S GMT)", time.gmtime(m.changed))


def instance(m):
    asked = m.asked
    parts = [("instanceId", m.id), ("imageId", asked.image.id), state("instanceState", m.state),
             ("privateDnsName", ""), ("dnsName", ""), ("reason", transition(m)),
             ("amiLaunchIndex", "0"), ("instanceType", m.type.name),
             ("launchTime", iso(m.launched)),
             element("placement", ("availabilityZone", m.zone),
                     ("groupName", asked.group or ""), ("tenancy", asked.tenancy)),
             element("monitoring", ("state", "disabled")),
             ("architecture", asked.image.arch), ("rootDeviceType", "ebs"),
             ("rootDeviceName", asked.image.root), ("clientToken", asked.token or ""),
             ("hypervisor", "xen"), ("ebsOptimized", "false")]
    if m.state != life.TERMINATED:
        parts += [("subnetId", asked.subnet.id), ("vpcId", asked.subnet.vpc.id),
                  ("privateIpAddress", m.address),
                  element("groupSet", *[element("item", ("groupId", g))
                                        for g in m.groups]),
                  element("blockDeviceMapping", element(
                      "item", ("deviceName", asked.image.root), element(
                          "ebs", ("volumeId", m.volume), ("status", "attached"),
                          ("deleteOnTermination", "true")))),
                  element("networkInterfaceSet", element(
                      "item", ("networkInterfaceId", m.card), ("privateIpAddress", m.address),
                      ("status", "in-use"), element("groupSet", *[
                          element("item", ("groupId", g)) for g in m.groups]),
                      element("attachment", ("attachmentId", "eni-attach-" + m.card[4:]),
                              ("deviceIndex", "0"), ("status", "attached"))))]
        if m.public and m.state == life.RUNNING:
            parts.append(("ipAddress", m.public))
    if m.reason[0]:
        parts.append(element("stateReason", ("code", m.reason[0]), ("message", m.reason[1])))
    if asked.market != "on-demand":
        parts.append(("instanceLifecycle", asked.market))
    if m.spot_request:
        parts.append(("spotInstanceRequestId", m.spot_request))
    if asked.reservation:
        parts.append(("capacityReservationId", asked.reservation))
    if asked.profile:
        parts.append(element("iamInstanceProfile", (
            "arn", "arn:aws:iam::123456789012:instance-profile/" + asked.profile)))
    parts.append(element("metadataOptions", ("state", "applied"),
                         ("httpTokens", "required" if asked.imds_v2_only else "optional"),
                         ("httpPutResponseHopLimit", asked.hops)))
    return element("item", *parts, *tag_set(m.tags))


class Instances:
    def do_run_instances(self, request, p, dry):
        asked = Asked(self.book, request.bucket, p)
        self.permit(request, asked)
        self.done(p, dry)
        made = self.book.create(asked)
        return [("reservationId", "r-0" + secrets.token_hex(8)), ("ownerId", "123456789012"),
                element("instancesSet", *[instance(m) for m in made])]

    def known(self, request, ids):
        """These machines; one that is unknown fails the call."""
        for ident in ids:
            if not re.fullmatch(r"i-[0-9a-f]{8,17}", ident):
                raise Failure(400, "InvalidInstanceID.Malformed", "Invalid id: \"%s\"" % ident)
        shown = {m.id: m for m in self.book.visible(request.bucket)}
        missing = [i for i in ids if i not in shown]
        if missing:
            raise Failure(400, "InvalidInstanceID.NotFound", "The instance ID%s '%s' do%s not "
                          "exist" % (("s", ", ".join(missing), "") if len(missing) > 1 else
                                     ("", missing[0], "es")))
        return [shown[i] for i in ids]

    def do_describe_instances(self, request, p, dry):
        ids, filters = p.texts("InstanceId"), Filters(p, FILTERS)
        found = self.known(request, ids) if ids else self.book.visible(request.bucket)
        found = [m for m in found if filters.pass_(lambda n, m=m: told(m, n))]
        found, more = page(p, found, with_ids=bool(ids))
        self.done(p, dry)
        sets = [element("item", ("reservationId", "r-" + m.id[2:]),
                        ("ownerId", "123456789012"), element("instancesSet", instance(m)))
                for m in found]
        return some(element("reservationSet", *sets), more and ("nextToken", more))

    def do_terminate_instances(self, request, p, dry):
        found = self.known(request, p.texts("InstanceId") or [p.need("InstanceId.1")])
        for name in ("Force", "SkipOsShutdown"):
            p.flag(name)
        self.done(p, dry)
        items = []
        for m in found:
            before = m.state
            self.book.end(m, "Client.UserInitiatedShutdown",
                          "Client.UserInitiatedShutdown: User initiated shutdown")
            items.append(element("item", ("instanceId", m.id),
                                 state("currentState", m.state),
                                 state("previousState", before)))
        return [element("instancesSet", *items)]

    def do_stop_instances(self, request, p, dry):
        found = self.known(request, p.texts("InstanceId"))
        p.flag("Force")
        self.done(p, dry)
        if any(m.asked.spot for m in found):
            raise Failure(400, "UnsupportedOperation", "You can't stop the Spot Instance "
                          "because it is associated with a one-time Spot Instance request.")
        raise Failure(400, "UnsupportedOperation", "fakecloud stops no instances")

    def do_describe_instance_status(self, request, p, dry):
        ids, everything = p.texts("InstanceId"), p.flag("IncludeAllInstances")
        found = self.known(request, ids) if ids else self.book.visible(request.bucket)
        found = [m for m in found if everything or m.state == life.RUNNING]
        found, more = page(p, found, with_ids=bool(ids))
        self.done(p, dry)
        status = element("status", "ok")
        return some(element("instanceStatusSet", *[element(
            "item", ("instanceId", m.id), ("availabilityZone", m.zone),
            state("instanceState", m.state), element("instanceStatus", status),
            element("systemStatus", status)) for m in found]), more and ("nextToken", more))

    def do_describe_instance_attribute(self, request, p, dry):
        machine = self.known(request, [p.need("InstanceId")])[0]
        name = p.need("Attribute")
        self.done(p, dry)
        told_of = {"instanceInitiatedShutdownBehavior": machine.behaviour,
                   "disableApiTermination": "false",
                   "userData": base64.b64encode(machine.asked.user_data).decode()}
        if name not in told_of:
            raise Failure(400, "InvalidParameterValue", "Invalid attribute: " + name)
        return [("instanceId", machine.id), element(name, ("value", told_of[name]))]

    def do_modify_instance_attribute(self, request, p, dry):
        machine = self.known(request, [p.need("InstanceId")])[0]
        wanted = p.text("InstanceInitiatedShutdownBehavior.Value")
        p.flag("DisableApiTermination.Value")
        self.done(p, dry)
        if wanted not in (None, "stop", "terminate"):
            raise Failure(400, "InvalidParameterValue", "Invalid behavior: " + wanted)
        machine.behaviour = wanted or machine.behaviour
        return [("return", "true")]

    def do_get_console_output(self, request, p, dry):
        machine = self.known(request, [p.need("InstanceId")])[0]
        p.flag("Latest")
        self.done(p, dry)
        text = machine.boot.text() if machine.boot else b""
        return [("instanceId", machine.id), ("timestamp", iso(time.time())),
                ("output", base64.encodebytes(text).decode())]

    def do_create_tags(self, request, p, dry):
        ids, tags = p.texts("ResourceId"), read_tags(p)
        found = self.known(request, [i for i in ids if i.startswith("i-")])
        others = [self.network_thing(request, i) for i in ids if not i.startswith("i-")]
        self.done(p, dry)
        for thing in found + others:
            thing.tags.update(tags)
        return [("return", "true")]

    def do_describe_spot_instance_requests(self, request, p, dry):
        ids = p.texts("SpotInstanceRequestId")
        filters = Filters(p, ("instance-id", "state", "tag:", "tag-key"))
        found = [m for m in self.book.visible(request.bucket) if m.spot_request and
                 (not ids or m.spot_request in ids)]
        found = [m for m in found if filters.pass_(lambda n, m=m: spot_told(m, n))]
        found, more = page(p, found, with_ids=bool(ids))
        self.done(p, dry)
        return some(element("spotInstanceRequestSet", *[element(
            "item", ("spotInstanceRequestId", m.spot_request), ("instanceId", m.id),
            ("state", spot_told(m, "state")[0]), element("status", ("code", spot_code(m))))
            for m in found]), more and ("nextToken", more))


def told(m, name):
    tags = tags_of(name, m.tags)
    if tags is not None:
        return tags
    return {"instance-state-name": [life.NAMES[m.state]], "client-token": [m.asked.token or ""],
            "instance-lifecycle": [m.asked.market] if m.asked.spot else [],
            "instance-type": [m.type.name], "subnet-id": [m.asked.subnet.id],
            "availability-zone": [m.zone], "instance-id": [m.id],
            "vpc-id": [m.asked.subnet.vpc.id], "instance.group-id": m.groups}[name]


def spot_told(m, name):
    tags = tags_of(name, m.asked.tags.get("spot-instances-request", {}))
    if tags is not None:
        return tags
    ended = m.state in (life.SHUTTING_DOWN, life.TERMINATED)
    return {"instance-id": [m.id], "state": ["closed" if ended else "active"]}[name]


def spot_code(m):
    if m.reason[0] == "Server.SpotInstanceTermination":
        return "instance-terminated-no-capacity"
    if m.state in (life.SHUTTING_DOWN, life.TERMINATED):
        return "instance-terminated-by-user"
    if "meta-data/spot/instance-action" in m.metadata:
        return "marked-for-termination"
    return "fulfilled"
