"""What an account has in each region: networks, images, parameters, profiles."""
import re

# A part of the configuration, see world.py; tests replace what they want.
EC2 = {
    "regions": {"us-east-1": "abc", "us-west-2": "ab", "eu-central-1": "ab",
                "cn-north-1": "ab"},
    "default_vpc": True,          # every region has one, with a subnet in each zone
    "vpcs": [],                   # more: {"id", "region", "tags", "subnets": [...]}
    "profiles": ["gpucloud-node"],
    "not_offered": [],            # "ZONE/TYPE", with * and ?
    "nets": None,                 # ["127.X", "127.Y"]: private and public addresses of
                                  # machines that can be reached, see ec2_gate.py
    "capacity": {},               # "ZONE/TYPE/MARKET", with * and ?: how many machines
    "quotas": {},                 # "REGION/CODE": vCPUs; else DEFAULT_QUOTA
    "endpoints": [],              # gateways to S3: {"id", "region", "vpc", "service"}
    "dies": {},                   # "ZONE/TYPE/MARKET", with * and ?: a stateReason
    "reservations": [],           # {"id", "type", "zone", "count", "state", "market"}
    "images": [
        {"name": "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20261101",
         "arch": "x86_64", "root": "/dev/sda1", "owner": "099720109477", "gb": 8,
         "parameter": "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/"
                      "hvm/ebs-gp3/ami-id"},
        {"name": "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-20261101",
         "arch": "arm64", "root": "/dev/sda1", "owner": "099720109477", "gb": 8,
         "parameter": "/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/"
                      "hvm/ebs-gp3/ami-id"},
        {"name": "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20261101",
         "arch": "x86_64", "root": "/dev/sda1", "owner": "898082745236", "gb": 65,
         "parameter": "/aws/service/deeplearning/ami/x86_64/"
                      "base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"},
        {"name": "Deep Learning ARM64 Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20261101",
         "arch": "arm64", "root": "/dev/sda1", "owner": "898082745236", "gb": 65,
         "parameter": "/aws/service/deeplearning/ami/arm64/"
                      "base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"},
        {"name": "al2023-ami-2023.9.20261101.0-kernel-6.12-x86_64", "arch": "x86_64",
         "root": "/dev/xvda", "owner": "137112412989", "gb": 8,
         "parameter": "/aws/service/ami-amazon-linux-latest/"
                      "al2023-ami-kernel-default-x86_64"},
    ],
}
DEFAULT_QUOTA = 2000


def number(*parts):
    """The same 17 hex digits for the same parts."""
    found = 0xcbf29ce484222325
    for byte in "/".join(parts).encode():
        found = (found ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return "0%016x" % found


def zones(config, region):
    return [region + letter for letter in config["regions"].get(region, "")]


def zone_id(zone):
    """us-east-1a -> use1-az1."""
    words = zone[:-1].split("-")
    return "%s%s%s-az%d" % (words[0], words[1][0], words[2], ord(zone[-1]) - ord("a") + 1)


class Subnet:
    def __init__(self, vpc, zone, ident, public=True, default=True, free=4091, tags=None):
        self.vpc, self.zone, self.id, self.public, self.default = vpc, zone, ident, public, default
        self.free, self.tags = free, tags or {}


class Vpc:
    def __init__(self, ident, region, default, tags=None):
        self.id, self.region, self.default, self.tags = ident, region, default, tags or {}
        self.subnets = []


class Group:
    """A security group."""

    def __init__(self, vpc, ident, name, text, tags=None):
        self.vpc, self.id, self.name, self.text, self.tags = vpc, ident, name, text, tags or {}
        self.rules = []  # of ingress: dicts
        self.egress = [{"protocol": "-1", "from": None, "to": None, "cidr": "0.0.0.0/0"}]


class Image:
    def __init__(self, item, region):
        self.id = item.get("id") or "ami-" + number(region, item["name"])
        self.name, self.arch, self.root = item["name"], item["arch"], item["root"]
        self.owner, self.gb, self.parameter = item["owner"], item["gb"], item.get("parameter")
        self.state = item.get("state", "available")
        self.deprecated = item.get("deprecated")  # a time
        self.platform = item.get("platform")  # "windows"
        self.private = item.get("private", False)  # another account's, and not shared
        self.user_data = item.get("cloud_init", True)


class Region:
    """What there is in one region before anybody made something."""

    def __init__(self, config, name):
        self.name = name
        self.zones = zones(config, name)
        self.vpcs, self.groups = {}, {}
        self.templates = {}  # of launches
        self.images = {i.id: i for i in (Image(x, name) for x in config["images"]
                                         if x.get("region", name) == name)}
        if config["default_vpc"]:
            self.add_vpc(Vpc("vpc-" + number(name, "vpc"), name, True),
                         [{"zone": z} for z in self.zones])
        for item in config["vpcs"]:
            if item["region"] == name:
                self.add_vpc(Vpc(item["id"], name, False, item.get("tags")), item["subnets"])

    def add_vpc(self, vpc, subnets):
        self.vpcs[vpc.id] = vpc
        for item in subnets:
            ident = item.get("id") or "subnet-" + number(vpc.id, item["zone"])
            vpc.subnets.append(Subnet(vpc, item["zone"], ident, item.get("public", True),
                                      vpc.default, item.get("free", 4091), item.get("tags")))
        group = Group(vpc, "sg-" + number(vpc.id, "default"), "default",
                      "default VPC security group")
        self.groups[group.id] = group

    def subnet(self, ident):
        for vpc in self.vpcs.values():
            for subnet in vpc.subnets:
                if subnet.id == ident:
                    return subnet
        return None

    def default_subnet(self, zone):
        for vpc in self.vpcs.values():
            for subnet in vpc.subnets:
                if vpc.default and subnet.zone == zone:
                    return subnet
        return None

    def parameter(self, name):
        for image in self.images.values():
            if image.parameter == name:
                return image.id
        return None


def fits(pattern, text):
    """With * and ?, as EC2's filters have them."""
    made = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch(made, text, re.DOTALL) is not None
