"""What RunInstances is asked for: every parameter is read, and checked as EC2 does."""
import base64
import binascii
import hashlib
import re

from .ec2_account import fits
from .ec2_types import TYPES
from .http1 import Failure

RESOURCES = ("instance", "volume", "network-interface", "spot-instances-request")
LONGEST_DATA = 16384


def bad(text, code="InvalidParameterValue"):
    return Failure(400, code, text)


class Asked:
    """One call, whole; `count` machines come of it or none."""

    def __init__(self, book, region, p):
        self.book, self.region = book, region
        self.account = book.region(region)
        low, high = p.number("MinCount", low=1), p.number("MaxCount", low=1, high=1000)
        if low is None or high is None:
            p.need("MinCount" if low is None else "MaxCount")
        if low > high:
            raise bad("The minimum number of instances is more than the maximum",
                      "InvalidParameterCombination")
        self.count = high
        self.token = p.text("ClientToken")
        if self.token and (len(self.token) > 64 or not self.token.isascii()):
            raise bad("Client token is longer than 64 characters", "InvalidParameterValue")
        self.type = self.read_type(p.need("InstanceType"))
        self.image = self.read_image(p.need("ImageId"))
        self.read_place(p)
        self.read_market(p)
        self.read_disk(p)
        self.read_tags(p)
        self.read_behaviour(p)
        self.user_data = self.read_user_data(p.text("UserData", ""))
        self.fingerprint = self.print_of(p)
        self.dies = self.read_death()

    def read_death(self):
        """A stateReason: such machines never run."""
        name = "%s/%s/%s" % (self.zone, self.type.name, self.market)
        return next((why for pattern, why in self.book.config["dies"].items()
                     if fits(pattern, name)), None)

    def print_of(self, p):
        """Of all parameters but the zone and what makes no difference."""
        lines = sorted("%s=%s" % i for i in p.args.items() if i[0] not in (
            "Placement.AvailabilityZone", "DryRun", "ClientToken"))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def read_type(self, name):
        found = TYPES.get(name)
        if found is None:
            raise bad("Invalid value '%s' for InstanceType." % name)
        return found

    def read_image(self, name):
        if name.startswith("resolve:ssm:"):
            name = self.account.parameter(name[len("resolve:ssm:"):]) or name
        if not re.fullmatch(r"ami-[0-9a-f]{8,17}", name):
            raise bad("Invalid id: \"%s\" (expecting \"ami-...\")" % name,
                      "InvalidAMIID.Malformed")
        image = self.account.images.get(name)
        if image is None:
            raise bad("The image id '[%s]' does not exist" % name, "InvalidAMIID.NotFound")
        if image.private:
            raise bad("Not authorized for images: [%s]" % name, "AuthFailure")
        if image.state != "available":
            raise bad("The image %s is not available" % name, "InvalidAMIID.Unavailable")
        if image.arch != self.type.arch:
            raise bad("The architecture '%s' of the specified instance type does not match "
                      "the architecture '%s' of the specified AMI. Specify an instance type "
                      "and an AMI that have matching architectures, and try again. You can "
                      "use 'describe-instance-types' or 'describe-images' to discover the "
                      "architecture of the instance type or AMI."
                      % (self.type.arch, image.arch), "InvalidParameterValue")
        return image

    # -- where

    def read_place(self, p):
        place = p.group("Placement")
        zone, self.group = place.text("AvailabilityZone"), place.text("GroupName")
        self.tenancy = place.text("Tenancy", "default")
        subnet, groups = p.text("SubnetId"), p.texts("SecurityGroupId")
        cards = p.groups("NetworkInterface")
        self.efa = 0
        public = None
        if cards:
            if subnet or groups:
                raise bad("Network interfaces and an instance-level subnet ID may not be "
                          "specified on the same request", "InvalidParameterCombination")
            subnet, groups, public = self.read_cards(cards)
        self.zoned = bool(zone or subnet)
        self.subnet = self.find_subnet(subnet, zone)
        self.zone = self.subnet.zone
        self.public = self.subnet.public if public is None else public
        self.check_groups(groups)
        self.check_offered()
        if self.group and self.group not in self.book.groups:
            raise bad("The placement group '%s' is unknown." % self.group,
                      "InvalidPlacementGroup.Unknown")

    def read_cards(self, cards):
        subnets, groups, public, places = set(), [], None, set()
        for card in cards:
            place = (card.number("NetworkCardIndex", 0, 0), card.number("DeviceIndex", None, 0))
            if place[1] is None:
                card.need("DeviceIndex")
            kind = card.text("InterfaceType", "interface")
            if kind not in ("interface", "efa", "efa-only"):
                raise bad("Invalid interface type: " + kind)
            if place[0] >= self.type.cards or place in places:
                raise bad("Invalid network card index: %d" % place[0],
                          "InvalidParameterCombination")
            if place == (0, 0) and kind == "efa-only":
                raise bad("efa-only is not supported for the primary network interface",
                          "InvalidParameterCombination")
            places.add(place)
            self.efa += kind != "interface"
            subnets.add(card.need("SubnetId"))
            groups = card.texts("SecurityGroupId") or groups
            wanted = card.text("AssociatePublicIpAddress")
            if wanted is not None:
                if len(cards) > 1:
                    raise bad("The associatePublicIPAddress parameter cannot be specified "
                              "when launching with multiple network interfaces.",
                              "InvalidParameterCombination")
                public = card.flag("AssociatePublicIpAddress")
            card.flag("DeleteOnTermination")
            card.text("Description")
        if len(subnets) > 1:
            raise bad("Network interfaces of two subnets", "InvalidParameterCombination")
        if (0, 0) not in places:
            raise bad("No primary network interface", "InvalidParameterCombination")
        if self.efa > self.type.efa:
            raise bad("The instance type %s supports a maximum of %d EFA interfaces"
                      % (self.type.name, self.type.efa), "InvalidParameterCombination")
        return subnets.pop(), groups, bool(public)

    def find_subnet(self, ident, zone):
        if ident:
            found = self.account.subnet(ident)
            if found is None:
                raise bad("The subnet ID '%s' does not exist" % ident,
                          "InvalidSubnetID.NotFound")
            if zone and zone != found.zone:
                raise bad("The subnet is in another Availability Zone",
                          "InvalidParameterCombination")
        else:
            if zone and zone not in self.account.zones:
                raise bad("Invalid availability zone: [%s]" % zone)
            found = self.account.default_subnet(zone or self.account.zones[0])
            if found is None:
                raise bad("No default VPC for this user. GroupName is only supported for "
                          "EC2-Classic and default VPC.", "VPCIdNotSpecified")
        if found.free < self.count:
            raise bad("There are not enough free addresses in subnet '%s' to satisfy the "
                      "requested number of instances." % found.id,
                      "InsufficientFreeAddressesInSubnet")
        return found

    def check_groups(self, groups):
        for ident in groups:
            group = self.account.groups.get(ident)
            if group is None:
                raise bad("The security group '%s' does not exist" % ident,
                          "InvalidGroup.NotFound")
            if group.vpc is not self.subnet.vpc:
                raise bad("Security group %s and subnet %s belong to different networks."
                          % (ident, self.subnet.id))
        self.groups = groups or [g.id for g in self.account.groups.values() if
                                 g.vpc is self.subnet.vpc and g.name == "default"]
        if self.efa and not any(self.lets_efa_pass(self.account.groups[g]) for g in groups):
            raise bad("fakecloud: no security group lets EFA's traffic in and out",
                      "InvalidParameterCombination")

    @staticmethod
    def lets_efa_pass(group):
        own = {"protocol": "-1", "from": None, "to": None, "group": group.id}
        return own in group.rules and own in group.egress

    def check_offered(self):
        name = "%s/%s" % (self.zone, self.type.name)
        if any(fits(p, name) for p in self.book.config["not_offered"]):
            raise Failure(400, "Unsupported", "Your requested instance type (%s) is not "
                          "supported in your requested Availability Zone (%s). Please retry "
                          "your request by not specifying an Availability Zone or choosing "
                          "another." % (self.type.name, self.zone))

    # -- how

    def read_market(self, p):
        options = p.group("InstanceMarketOptions")
        self.market = options.text("MarketType", "on-demand")
        if self.market not in ("on-demand", "spot", "capacity-block"):
            raise bad("Invalid market type: " + self.market)
        self.spot = self.market == "spot"
        self.micros = self.type.micros
        if self.spot:
            self.read_spot(options.group("SpotOptions"))
        target = p.group("CapacityReservationSpecification")
        preference = target.text("CapacityReservationPreference", "open")
        if preference not in ("open", "none", "capacity-reservations-only"):
            raise bad("Invalid capacity reservation preference: " + preference)
        self.reservation = target.text("CapacityReservationTarget.CapacityReservationId")
        if self.market == "capacity-block" and not self.reservation:
            raise bad("A capacity block launch needs a capacity reservation",
                      "InvalidParameterCombination")
        if self.reservation:
            self.check_reservation()
            self.micros = 0  # paid whether it is used or not

    def read_spot(self, options):
        if options.text("SpotInstanceType", "one-time") != "one-time":
            raise bad("fakecloud has one-time spot requests alone", "Unsupported")
        if options.text("InstanceInterruptionBehavior", "terminate") != "terminate":
            raise bad("one-time requests are terminated", "InvalidParameterCombination")
        self.micros = self.type.spot_micros(self.zone)
        most = options.text("MaxPrice")
        if most is None:
            return
        if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", most):
            raise bad("Invalid value '%s' for MaxPrice." % most)
        if float(most) * 1e6 + 0.5 < self.micros:
            raise Failure(400, "SpotMaxPriceTooLow", "Your Spot request price of %s is lower "
                          "than the minimum required Spot request fulfillment price of %.6f."
                          % (most, self.micros / 1e6))

    def check_reservation(self):
        for item in self.book.config["reservations"]:
            if item["id"] == self.reservation:
                break
        else:
            raise bad("The capacity reservation '%s' does not exist" % self.reservation,
                      "InvalidCapacityReservationId.NotFound")
        if item.get("state", "active") != "active" or item["zone"] != self.zone or \
                item["type"] != self.type.name:
            raise bad("The capacity reservation does not fit",
                      "InvalidParameterCombination")
        used = sum(m.asked.reservation == self.reservation for m in self.book.counted())
        if used + self.count > item["count"]:
            raise Failure(400, "ReservationCapacityExceeded", "The requested reservation does "
                          "not have sufficient compatible and available capacity for this "
                          "request.")

    def read_disk(self, p):
        self.disk_gb = self.image.gb
        for disk in p.groups("BlockDeviceMapping"):
            name, ebs = disk.need("DeviceName"), disk.group("Ebs")
            size = ebs.number("VolumeSize", None, 1, 65536)
            kind = ebs.text("VolumeType", "gp3")
            ebs.number("Iops", None, 3000, 80000)
            ebs.number("Throughput", None, 125, 2000)
            ebs.flag("Encrypted")
            ebs.text("KmsKeyId")
            ebs.flag("DeleteOnTermination")
            if kind not in ("gp3", "gp2", "io1", "io2", "st1", "sc1", "standard"):
                raise bad("Invalid volume type: " + kind)
            if name != self.image.root:
                continue
            if size is not None and size < self.image.gb:
                raise bad("Volume of size %dGB is smaller than snapshot 'snap-0fake', expect "
                          "size >= %dGB" % (size, self.image.gb),
                          "InvalidBlockDeviceMapping")
            self.disk_gb = size or self.image.gb

    def read_tags(self, p):
        self.tags = {}
        for spec in p.groups("TagSpecification"):
            kind = spec.need("ResourceType")
            if kind not in RESOURCES:
                raise bad("'%s' is not a valid taggable resource type" % kind)
            if kind == "spot-instances-request" and \
                    p.text("InstanceMarketOptions.MarketType") != "spot":
                raise bad("'spot-instances-request' is not a valid taggable resource type for "
                          "this operation.")
            self.tags[kind] = read_tags(spec)

    def read_behaviour(self, p):
        self.behaviour = p.text("InstanceInitiatedShutdownBehavior", "stop")
        if self.behaviour not in ("stop", "terminate"):
            raise bad("Invalid shutdown behavior: " + self.behaviour)
        options = p.group("MetadataOptions")
        self.imds_v2_only = options.text("HttpTokens", "required") == "required"
        options.text("HttpEndpoint")
        self.hops = options.number("HttpPutResponseHopLimit", 2, 1, 64)
        self.tags_in_imds = options.text("InstanceMetadataTags") == "enabled"
        profile = p.group("IamInstanceProfile")
        self.profile = profile.text("Name") or (profile.text("Arn") or "").rpartition("/")[2]
        if self.profile and self.profile not in self.book.config["profiles"] and \
                self.book.world.iam.role_of_profile(self.profile) is None:
            raise bad("Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid "
                      "IAM Instance Profile name" % self.profile)
        p.text("KeyName")
        for name in ("EbsOptimized", "DisableApiTermination", "Monitoring.Enabled"):
            p.flag(name)

    def read_user_data(self, text):
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise bad("Invalid BASE64 encoding of user data",
                      "InvalidUserData.Malformed") from None
        if len(data) > LONGEST_DATA:
            raise bad("User data is limited to 16384 bytes", "InvalidParameterValue")
        return data


def read_tags(spec):
    """Checked as EC2 does: lengths, no aws: prefix, fifty at most."""
    found = {}
    for tag in spec.groups("Tag"):
        key, value = tag.need("Key"), tag.text("Value", "")
        if len(key) > 128 or key.lower().startswith("aws:") or key in found:
            raise bad("Tag keys cannot be longer than 128 characters, start with 'aws:' or "
                      "be given twice", "InvalidParameterValue")
        if len(value) > 256:
            raise bad("Tag value exceeds the maximum length of 256 characters")
        found[key] = value
    if len(found) > 50:
        raise bad("More than 50 tags specified", "TagLimitExceeded")
    return found
