"""EC2: regions, zones, networks, security groups, placement groups, keys."""
import ipaddress
import secrets

from .ec2_account import Group, number, zone_id
from .ec2_pages import Filters, page, tag_set, tags_of
from .ec2_run import read_tags
from .http1 import Failure
from .xmltext import element


MOST_RULES = 60


def yes(value):
    return "true" if value else "false"


class Network:
    def new_tags(self, p, kind):
        found = {}
        for spec in p.groups("TagSpecification"):
            if spec.need("ResourceType") != kind:
                raise Failure(400, "InvalidParameterValue", "'%s' is not a valid taggable "
                              "resource type for this operation." % spec.need("ResourceType"))
            found = read_tags(spec)
        return found

    def network_thing(self, request, ident):
        region = self.book.region(request.bucket)
        found = region.groups.get(ident) or region.vpcs.get(ident) or region.subnet(ident)
        if found is None:
            raise Failure(400, "InvalidID", "The ID '%s' is not valid" % ident)
        return found

    def do_describe_regions(self, request, p, dry):
        names = p.texts("RegionName")
        p.flag("AllRegions")
        filters = Filters(p, ("region-name", "opt-in-status"))
        self.done(p, dry)
        found = [n for n in self.book.config["regions"] if not names or n in names]
        found = [n for n in found if filters.pass_(lambda f, n=n: {
            "region-name": [n], "opt-in-status": ["opt-in-not-required"]}[f])]
        return [element("regionInfo", *[element(
            "item", ("regionName", n), ("regionEndpoint", "ec2.%s.amazonaws.com" % n),
            ("optInStatus", "opt-in-not-required")) for n in found])]

    def do_describe_availability_zones(self, request, p, dry):
        names, filters = p.texts("ZoneName"), Filters(p, ("state", "zone-type", "zone-name"))
        self.done(p, dry)
        region = self.book.region(request.bucket)
        found = [z for z in region.zones if (not names or z in names) and filters.pass_(
            lambda f, z=z: {"state": ["available"], "zone-type": ["availability-zone"],
                            "zone-name": [z]}[f])]
        return [element("availabilityZoneInfo", *[element(
            "item", ("zoneName", z), ("zoneState", "available"), ("regionName", region.name),
            ("zoneId", zone_id(z)), ("zoneType", "availability-zone")) for z in found])]

    def do_describe_vpcs(self, request, p, dry):
        ids = p.texts("VpcId")
        filters = Filters(p, ("is-default", "vpc-id", "tag:", "tag-key", "state"))
        found = [v for v in self.book.region(request.bucket).vpcs.values()
                 if (not ids or v.id in ids) and filters.pass_(lambda f, v=v: tags_of(
                     f, v.tags) or {"is-default": [yes(v.default)], "vpc-id": [v.id],
                                    "state": ["available"]}.get(f, []))]
        found, more = page(p, found)
        self.done(p, dry)
        return [element("vpcSet", *[element(
            "item", ("vpcId", v.id), ("state", "available"), ("isDefault", yes(v.default)),
            *tag_set(v.tags)) for v in found])] + ([("nextToken", more)] if more else [])

    def do_describe_subnets(self, request, p, dry):
        ids = p.texts("SubnetId")
        filters = Filters(p, ("vpc-id", "default-for-az", "availability-zone", "subnet-id",
                              "map-public-ip-on-launch", "tag:", "tag-key", "state"))
        found = [s for v in self.book.region(request.bucket).vpcs.values() for s in v.subnets
                 if not ids or s.id in ids]
        found = [s for s in found if filters.pass_(lambda f, s=s: tags_of(f, s.tags) or {
            "vpc-id": [s.vpc.id], "default-for-az": [yes(s.default)], "subnet-id": [s.id],
            "availability-zone": [s.zone], "map-public-ip-on-launch": [yes(s.public)],
            "state": ["available"]}.get(f, []))]
        found, more = page(p, found)
        self.done(p, dry)
        return [element("subnetSet", *[element(
            "item", ("subnetId", s.id), ("state", "available"), ("vpcId", s.vpc.id),
            ("availabilityZone", s.zone), ("availabilityZoneId", zone_id(s.zone)),
            ("availableIpAddressCount", s.free), ("defaultForAz", yes(s.default)),
            ("mapPublicIpOnLaunch", yes(s.public)), *tag_set(s.tags))
            for s in found])] + ([("nextToken", more)] if more else [])

    # -- security groups

    def do_describe_security_groups(self, request, p, dry):
        ids = p.texts("GroupId")
        filters = Filters(p, ("vpc-id", "group-name", "group-id", "tag:", "tag-key"))
        groups = self.book.region(request.bucket).groups
        missing = [i for i in ids if i not in groups]
        if missing:
            raise no_group(missing[0])
        found = [g for g in groups.values() if (not ids or g.id in ids) and filters.pass_(
            lambda f, g=g: tags_of(f, g.tags) or {"vpc-id": [g.vpc.id], "group-id": [g.id],
                                                  "group-name": [g.name]}.get(f, []))]
        found, more = page(p, found)
        self.done(p, dry)
        return [element("securityGroupInfo", *[element(
            "item", ("ownerId", "123456789012"), ("groupId", g.id), ("groupName", g.name),
            ("groupDescription", g.text), ("vpcId", g.vpc.id),
            element("ipPermissions", *[rule(r) for r in g.rules]), *tag_set(g.tags))
            for g in found])] + ([("nextToken", more)] if more else [])

    def do_create_security_group(self, request, p, dry):
        region = self.book.region(request.bucket)
        name, text = p.need("GroupName"), p.need("GroupDescription")
        vpc = region.vpcs.get(p.need("VpcId"))
        tags = self.new_tags(p, "security-group")
        self.done(p, dry)
        if vpc is None:
            raise Failure(400, "InvalidVpcID.NotFound", "The vpc ID does not exist")
        if any(g.name == name and g.vpc is vpc for g in region.groups.values()):
            raise Failure(400, "InvalidGroup.Duplicate", "The security group '%s' already "
                          "exists for VPC '%s'" % (name, vpc.id))
        group = Group(vpc, "sg-" + number(region.name, name, secrets.token_hex(4)), name, text,
                      tags)
        region.groups[group.id] = group
        return [("return", "true"), ("groupId", group.id), *tag_set(tags)]

    def group(self, request, p):
        ident = p.need("GroupId")
        found = self.book.region(request.bucket).groups.get(ident)
        if found is None:
            raise no_group(ident)
        return found

    def do_delete_security_group(self, request, p, dry):
        group = self.group(request, p)
        self.done(p, dry)
        if any(group.id in m.groups for m in self.book.machines.values()
               if m.gone_at is None):
            raise Failure(400, "DependencyViolation", "resource %s has a dependent object"
                          % group.id)
        if group.name == "default":
            raise Failure(400, "CannotDelete", "the specified group: \"%s\" name: \"default\" "
                          "cannot be deleted by a user" % group.id)
        del self.book.region(request.bucket).groups[group.id]
        return [("return", "true")]

    def do_authorize_security_group_ingress(self, request, p, dry):
        group, rules = self.group(request, p), permissions(p)
        self.done(p, dry)
        for found in rules:
            if found in group.rules:
                raise Failure(400, "InvalidPermission.Duplicate", "the specified rule already "
                              "exists")
        check_room(group.rules + rules)
        group.rules += rules
        self.book.gate.update()
        return [("return", "true")]

    def do_revoke_security_group_ingress(self, request, p, dry):
        group, rules = self.group(request, p), permissions(p)
        self.done(p, dry)
        for found in rules:
            if found not in group.rules:
                raise Failure(400, "InvalidPermission.NotFound", "The specified rule does not "
                              "exist in this security group.")
            group.rules.remove(found)
        self.book.gate.update()
        return [("return", "true")]

    def do_modify_network_interface_attribute(self, request, p, dry):
        card, wanted = p.need("NetworkInterfaceId"), p.texts("SecurityGroupId")
        self.done(p, dry)
        for machine in self.book.machines.values():
            if machine.card == card and machine.region == request.bucket and \
                    machine.gone_at is None:
                break
        else:
            raise Failure(400, "InvalidNetworkInterfaceID.NotFound", "The networkInterface ID "
                          "'%s' does not exist" % card)
        groups = self.book.region(request.bucket).groups
        for ident in wanted:
            if ident not in groups:
                raise no_group(ident)
            if groups[ident].vpc is not machine.asked.subnet.vpc:
                raise Failure(400, "InvalidParameterValue", "Security group %s and interface "
                              "%s belong to different networks." % (ident, card))
        if not wanted:
            raise Failure(400, "MissingParameter", "The request must contain the parameter "
                          "groupId")
        machine.groups = wanted
        self.book.gate.update()
        return [("return", "true")]

    def do_authorize_security_group_egress(self, request, p, dry):
        group, rules = self.group(request, p), permissions(p)
        self.done(p, dry)
        for found in rules:
            if found in group.egress:
                raise Failure(400, "InvalidPermission.Duplicate", "the specified rule already "
                              "exists")
        group.egress += rules
        return [("return", "true")]

    # -- ways to other services

    def do_describe_vpc_endpoints(self, request, p, dry):
        filters = Filters(p, ("vpc-id", "service-name", "vpc-endpoint-type"))
        found = [e for e in self.book.config["endpoints"]
                 if e["region"] == request.bucket and filters.pass_(lambda f, e=e: {
                     "vpc-id": [e["vpc"]], "service-name": [e["service"]],
                     "vpc-endpoint-type": ["Gateway"]}[f])]
        found, more = page(p, found)
        self.done(p, dry)
        return [element("vpcEndpointSet", *[element(
            "item", ("vpcEndpointId", e["id"]), ("vpcId", e["vpc"]),
            ("serviceName", e["service"]), ("vpcEndpointType", "Gateway"),
            ("state", "available")) for e in found])] + ([("nextToken", more)] if more else [])

    # -- placement groups

    def do_create_placement_group(self, request, p, dry):
        name, strategy = p.need("GroupName"), p.text("Strategy", "cluster")
        tags = self.new_tags(p, "placement-group")
        self.done(p, dry)
        if name in self.book.groups:
            raise Failure(400, "InvalidPlacementGroup.Duplicate", "The Placement Group '%s' "
                          "already exists." % name)
        self.book.groups[name] = {"region": request.bucket, "strategy": strategy,
                                  "tags": tags, "id": "pg-0" + secrets.token_hex(8)}
        return [("return", "true")]

    def do_describe_placement_groups(self, request, p, dry):
        names = p.texts("GroupName")
        filters = Filters(p, ("group-name", "state", "tag:", "tag-key"))
        self.done(p, dry)
        found = [(n, g) for n, g in self.book.groups.items() if g["region"] == request.bucket
                 and (not names or n in names) and filters.pass_(
                     lambda f, n=n, g=g: tags_of(f, g["tags"]) or
                     {"group-name": [n], "state": ["available"]}.get(f, []))]
        return [element("placementGroupSet", *[element(
            "item", ("groupName", n), ("groupId", g["id"]), ("state", "available"),
            ("strategy", g["strategy"]), *tag_set(g["tags"])) for n, g in found])]

    def do_delete_placement_group(self, request, p, dry):
        name = p.need("GroupName")
        self.done(p, dry)
        if name not in self.book.groups:
            raise Failure(400, "InvalidPlacementGroup.Unknown", "The Placement Group '%s' is "
                          "unknown." % name)
        if any(m.asked.group == name for m in self.book.machines.values()
               if m.gone_at is None):
            raise Failure(400, "InvalidPlacementGroup.InUse", "The placement group '%s' is in "
                          "use and may not be deleted." % name)
        del self.book.groups[name]
        return [("return", "true")]


def no_group(ident):
    return Failure(400, "InvalidGroup.NotFound", "The security group '%s' does not exist"
                   % ident)


def permissions(p):
    found = []
    for item in p.groups("IpPermissions"):
        low, high = item.number("FromPort", None, -1, 65535), item.number("ToPort", None, -1,
                                                                          65535)
        base = {"protocol": item.need("IpProtocol"), "from": low, "to": high}
        for name, field in (("IpRanges", "CidrIp"), ("Ipv6Ranges", "CidrIpv6")):
            for one in item.groups(name):
                cidr = one.need(field)
                one.text("Description")
                try:
                    ipaddress.ip_network(cidr)
                except ValueError:
                    raise Failure(400, "InvalidParameterValue", "CIDR block %s is malformed"
                                  % cidr) from None
                found.append(dict(base, cidr=cidr))
        for one in item.groups("Groups"):
            found.append(dict(base, group=one.need("GroupId")))
    if not found:
        raise Failure(400, "MissingParameter", "The request must contain the parameter "
                      "ipPermissions")
    return found


def check_room(rules):
    """The quota of each group, of IPv4 and of IPv6 apart."""
    for six in (False, True):
        if sum((":" in r.get("cidr", "")) == six for r in rules) > MOST_RULES:
            raise Failure(400, "RulesPerSecurityGroupLimitExceeded", "The maximum number of "
                          "rules per security group has been reached.")


def rule(found):
    parts = [("ipProtocol", found["protocol"]), ("fromPort", found["from"]),
             ("toPort", found["to"])]
    cidr = found.get("cidr")
    if cidr:
        six = ":" in cidr
        parts.append(element("ipv6Ranges" if six else "ipRanges", element(
            "item", ("cidrIpv6" if six else "cidrIp", cidr))))
    else:
        parts.append(element("groups", element("item", ("groupId", found["group"]))))
    return element("item", *parts)
