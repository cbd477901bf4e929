"""The machines of EC2: what becomes of them, who may have how many, what they cost."""
import copy
import math
import secrets
import shutil
import threading
import time

from . import boot
from .aws_metadata import MachineImds
from .ec2_account import DEFAULT_QUOTA, Region, fits
from .ec2_gate import Gate
from .ec2_types import TYPES
from .http1 import Failure

PENDING, RUNNING, SHUTTING_DOWN, TERMINATED, STOPPING, STOPPED = range(0, 96, 16)
NAMES = {PENDING: "pending", RUNNING: "running", SHUTTING_DOWN: "shutting-down",
         TERMINATED: "terminated", STOPPING: "stopping", STOPPED: "stopped"}
SHORTEST_BILL = 60  # seconds
DISK_MICROS = 80000  # a GB and month of gp3
ADDRESS_MICROS = 5000  # an hour of a public IPv4 address
MONTH = 730 * 3600
FREE = 3600  # seconds of a spot machine, if the market ends it


def portion(micros, of):
    return -(-micros // of)


class Machine:
    def __init__(self, asked, number):
        self.asked = asked  # an ec2_run.Asked
        self.id = "i-0" + secrets.token_hex(8)
        self.region, self.zone, self.type = asked.region, asked.zone, asked.type
        self.state, self.reason = PENDING, ("", "")
        self.launched = time.time()
        self.tags = copy.deepcopy(asked.tags.get("instance", {}))
        self.behaviour = asked.behaviour
        self.volume = "vol-0" + secrets.token_hex(8)
        self.spot_request = "sir-" + secrets.token_hex(4) if asked.spot else None
        self.card = "eni-0" + secrets.token_hex(8)
        self.groups = list(asked.groups)
        place = "%d.%d" % (number // 250 % 250, number % 250 + 4)
        nets = asked.book.config.get("nets")
        self.address = "%s.%s" % (nets[0] if nets else "172.31", place)
        self.public = None
        if asked.public:
            self.public = "%s.%s" % (nets[1], place) if nets else \
                "203.0.113.%d" % (number % 250 + 4)
        self.began = self.ended = None  # of what is billed, monotonic
        self.gone_at = None
        self.changed = None  # when it began to end
        self.cut = None  # until when it reaches nothing, monotonic, and which service
        self.metadata = {}
        self.imds = self.boot = None
        self.boots = 0

    def billed(self, now):
        """Whole seconds: one that was begun counts."""
        if self.began is None:
            return 0
        return max(SHORTEST_BILL, math.ceil((self.ended or now) - self.began))

    def bill(self, now):
        """Millionths of a US dollar, by part; of what was begun, a whole one. A spot
        machine that the market took in its first hour is free itself."""
        seconds = self.billed(now)
        free = self.reason[0] == "Server.SpotInstanceTermination" and seconds < FREE
        parts = {"machine": 0 if free else portion(self.asked.micros * seconds, 3600),
                 "disk": portion(self.asked.disk_gb * DISK_MICROS * seconds, MONTH)}
        if self.asked.public:
            parts["address"] = portion(ADDRESS_MICROS * seconds, 3600)
        return parts

    def older(self, seconds):
        """As if it had been launched so much earlier."""
        self.launched -= seconds
        if self.began is not None:
            self.began -= seconds

    def describe(self, now):
        return {"id": self.id, "type": self.type.name, "arch": self.type.arch, "zone": self.zone,
                "image": self.asked.image.id,
                "market": self.asked.market, "state": NAMES[self.state],
                "reason": self.reason[0], "token": self.asked.token, "tags": self.tags,
                "boots": self.boots, "seconds": self.billed(now), "bill": self.bill(now),
                "imds": self.imds and self.imds.url, "launched": self.launched}


class Book:
    """All machines of the account, in all regions."""

    def __init__(self, world):
        self.world, self.lock = world, threading.RLock()
        self.machines, self.tokens, self.regions = {}, {}, {}
        self.groups = {}  # of placement
        self.gate = Gate(self)
        self.scaling = {}  # groups of Auto Scaling by region and name
        self.timers, self.ports = [], None
        self.made = 0
        self.closed = False

    @property
    def config(self):
        return self.world.config["ec2"]

    def region(self, name):
        with self.lock:
            if name not in self.regions:
                if name not in self.config["regions"]:
                    raise Failure(401, "AuthFailure", "AWS was not able to validate the "
                                  "provided access credentials")
                self.regions[name] = Region(self.config, name)
            return self.regions[name]

    def is_cut_off(self, identity, service):
        """Whether it is a machine's that reaches nothing now."""
        arn = getattr(identity, "arn", None) or ""
        machine = self.machines.get(arn.rpartition("/")[2])
        if machine is None or machine.cut is None:
            return False
        until, only = machine.cut
        return time.monotonic() < until and only in (None, service)

    # -- limits

    def counted(self, **wanted):
        return [m for m in self.machines.values() if m.state in (PENDING, RUNNING) and
                all(getattr(m, n) == v for n, v in wanted.items())]

    def limit(self, region, code):
        """vCPUs of a quota; None where there is no such."""
        known = {t.quota(spot) for t in TYPES.values() for spot in (False, True)}
        return self.config["quotas"].get("%s/%s" % (region, code), DEFAULT_QUOTA) \
            if code in known else None

    def check_quota(self, asked):
        code = asked.type.quota(asked.spot)
        limit = self.limit(asked.region, code)
        used = sum(m.type.cpus for m in self.counted(region=asked.region)
                   if m.type.quota(m.asked.spot) == code and m.asked.market == asked.market)
        if asked.market == "capacity-block" or used + asked.count * asked.type.cpus <= limit:
            return
        if asked.spot:
            raise Failure(400, "MaxSpotInstanceCountExceeded", "Max spot instance count "
                          "exceeded")
        raise Failure(400, "VcpuLimitExceeded", "You have requested more vCPU capacity than "
                      "your current vCPU limit of %d allows for the instance bucket that the "
                      "specified instance type belongs to. Please visit http://aws.amazon.com"
                      "/contact-us/ec2-request to request an adjustment to this limit." % limit)

    def check_capacity(self, asked):
        name = "%s/%s/%s" % (asked.zone, asked.type.name, asked.market)
        used = len(self.counted(zone=asked.zone, type=asked.type))
        for pattern, limit in self.config["capacity"].items():
            if fits(pattern, name) and used + asked.count > limit:
                raise Failure(500, "InsufficientInstanceCapacity", "We currently do not have "
                              "sufficient %s capacity in the Availability Zone you requested "
                              "(%s). Our system will be working on provisioning additional "
                              "capacity." % (asked.type.name, asked.zone))

    # -- what happens to machines

    def create(self, asked):
        """All of `asked.count`, or none; a token that was used gives the same ones."""
        with self.lock:
            scope = (asked.region, asked.zone if asked.zoned else None, asked.token)
            if asked.token and scope in self.tokens:
                fingerprint, ids = self.tokens[scope]
                if fingerprint != asked.fingerprint:
                    raise Failure(400, "IdempotentParameterMismatch", "Arguments on this "
                                  "idempotent request are inconsistent with arguments used in "
                                  "previous request(s).")
                return [self.machines[i] for i in ids]
            self.check_quota(asked)
            self.check_capacity(asked)
            made = []
            for _ in range(asked.count):
                made.append(Machine(asked, self.made))
                self.made += 1
            self.machines.update((m.id, m) for m in made)
            if asked.token:
                self.tokens[scope] = asked.fingerprint, [m.id for m in made]
        for machine in made:
            self.after(self.world.settings["ec2_pending"], self.start, machine)
        return made

    def after(self, seconds, work, *args):
        """Later, unless the stand-in was reset meanwhile."""
        def run():
            if not self.closed:
                work(*args)
        timer = threading.Timer(seconds, run)
        timer.daemon = True
        self.timers = [t for t in self.timers if t.is_alive()] + [timer]
        timer.start()

    def start(self, machine):
        with self.lock:
            if machine.state != PENDING or self.closed:
                return
            why = machine.asked.dies
            if why:
                return self.end(machine, why, "Server error on launch", at_once=True)
            machine.state, machine.began = RUNNING, time.monotonic()
            if not self.world.settings["ec2_boot"]:
                return
            if self.ports:
                machine.imds = MachineImds(self.world, machine)
                machine.imds.url = self.ports(machine.imds)
            machine.boot = boot.Boot(machine, self)
        machine.boot.begin()

    def visible(self, region, now=None):
        """Those that a describe shows: new ones after a while, ended ones for an hour."""
        now = now or time.time()
        settings = self.world.settings
        with self.lock:
            return [m for m in self.machines.values() if m.region == region and
                    now - m.launched >= settings["ec2_list_delay"] and
                    (m.gone_at is None or now - m.gone_at < settings["ec2_visible"])]

    def end(self, machine, code, text, at_once=False, sudden=False):
        with self.lock:
            if machine.state in (SHUTTING_DOWN, TERMINATED):
                return
            machine.reason = code, text
            machine.state = SHUTTING_DOWN
            machine.ended = machine.ended or time.monotonic()
            machine.changed = time.time()
        if machine.boot:
            machine.boot.stop(sudden)
        wait = 0 if at_once else self.world.settings["ec2_shutdown"]
        self.after(wait, self.gone, machine)

    def gone(self, machine):
        with self.lock:
            machine.state, machine.gone_at = TERMINATED, time.time()
            machine.address = machine.public = None
        self.gate.update()
        if machine.boot:
            machine.boot.stop(True)

    def powered_off(self, machine):
        """The system itself shut down."""
        if machine.behaviour == "terminate":
            self.end(machine, "Client.InstanceInitiatedShutdown",
                     "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
            return
        with self.lock:
            if machine.state == RUNNING:
                machine.state, machine.ended = STOPPED, time.monotonic()

    def notice(self, machine, seconds=120):
        """The spot market wants it back."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(
            self.world.clock() + seconds))
        machine.metadata["meta-data/spot/instance-action"] = \
            '{"action": "terminate", "time": "%s"}' % when
        machine.metadata["meta-data/spot/termination-time"] = when
        self.after(seconds, self.end, machine, "Server.SpotInstanceTermination",
                   "Server.SpotInstanceTermination: Instance terminated due to spot "
                   "interruption")

    def close(self):
        """At a reset, and at the end: nothing runs on."""
        with self.lock:
            self.closed = True
            self.gate.close()
            boots = [m.boot for m in self.machines.values() if m.boot]
            for timer in self.timers:
                timer.cancel()
        for one in boots:
            one.stop(True)
        for one in boots:
            one.wait()
        if boots:
            shutil.rmtree(boot.top(self.world.folder))
