"""Groups of Auto Scaling: each starts machines until it has as many as it should."""
import datetime
import secrets
import time

from . import ec2_machines as life
from .http1 import Failure

TICK = 0.1
NAME_TAG = "aws:autoscaling:groupName"
DELETING = "Delete in progress"


def wrong(text):
    return Failure(400, "ValidationError", text)


class ScalingGroup:
    def __init__(self, book, region, name):
        self.book, self.region, self.name = book, region, name
        self.low = self.high = self.desired = 0
        self.template, self.zones, self.tags = None, [], []  # tags: dicts
        self.machines, self.actions, self.activities = [], {}, []
        self.status = None
        self.created = time.time()
        self.next_try = 0

    # -- what is asked of it

    def resize(self, low, high, desired):
        low = self.low if low is None else low
        high = self.high if high is None else high
        if desired is None:
            desired = min(max(self.desired, low), high)
        if not 0 <= low <= high:
            raise wrong("Max bound, %d, must be greater than or equal to min bound, %d"
                        % (high, low))
        if not low <= desired <= high:
            raise wrong("Desired capacity:%d must be between the specified min size:%d and "
                        "max size:%d" % (desired, low, high))
        self.low, self.high, self.desired = low, high, desired

    def delete(self, force):
        if self.machines and not force:
            raise Failure(400, "ResourceInUse", "You cannot delete an AutoScalingGroup while "
                          "there are instances or pending Spot instance request(s) still in "
                          "the group.")
        self.status = DELETING
        self.low = self.high = self.desired = 0
        for machine in self.machines:
            self.terminate(machine, "a user request to delete the group")

    def terminate(self, machine, why):
        self.book.end(machine, "Client.UserInitiatedShutdown",
                      "Client.UserInitiatedShutdown: User initiated shutdown")
        self.note("Terminating EC2 instance: " + machine.id, why)

    # -- what it does by itself

    def tick(self):
        with self.book.lock:
            if self.book.closed or self.book.scaling.get((self.region, self.name)) is not self:
                return
            self.do_actions()
            self.drop_dead()
            if self.status == DELETING:
                if not self.machines:
                    del self.book.scaling[self.region, self.name]
                    return
            else:
                self.fit()
        self.book.after(TICK, self.tick)

    def do_actions(self):
        now = self.book.world.clock()
        for name, action in list(self.actions.items()):
            if action["start"] > now:
                continue
            del self.actions[name]
            try:
                self.resize(action["low"], action["high"], action["desired"])
            except Failure:
                pass
            self.note("Executing scheduled action " + name, "a scheduled action")

    def drop_dead(self):
        """Without CapacityRebalance one is replaced only when it is gone."""
        for machine in list(self.machines):
            gone = machine.state == life.TERMINATED
            if machine.state == life.STOPPED:  # unhealthy, so it is ended
                self.terminate(machine, "an EC2 health check")
            if gone:
                self.machines.remove(machine)
                self.note("Terminating EC2 instance: " + machine.id, "it was taken out of "
                          "service in response to an EC2 health check")

    def living(self):
        return [m for m in self.machines if m.state in (life.PENDING, life.RUNNING)]

    def fit(self):
        living, now = self.living(), time.monotonic()
        for machine in living[:max(0, len(living) - self.desired)]:
            self.terminate(machine, "a user request that changed the desired capacity")
        if len(self.machines) < self.desired and now >= self.next_try:
            self.launch()

    def launch(self):
        try:
            asked = self.template.ask(self.book, self.region, self.zones[
                len(self.activities) % len(self.zones)])
            tags = asked.tags.setdefault("instance", {})
            tags.update((t["key"], t["value"]) for t in self.tags if t["propagate"])
            tags[NAME_TAG] = self.name
            made = self.book.create(asked)
        except Failure as failed:
            self.next_try = time.monotonic() + self.book.world.settings["scaling_retry"]
            self.note("Launching a new EC2 instance.  Status Reason: " + failed.message,
                      "a difference between desired and actual capacity", "Failed",
                      "Could not launch %s Instances. %s - %s Launching EC2 instance failed."
                      % ("Spot" if "spot" in self.template.data.values() else "On-Demand",
                         failed.code, failed.message))
            return
        self.machines += made
        self.note("Launching a new EC2 instance: " + made[0].id,
                  "a difference between desired and actual capacity")

    def note(self, what, why, status="Successful", text=None):
        self.activities.append({"id": secrets.token_hex(16), "what": what, "why": why,
                                "status": status, "text": text, "at": time.time()})


def seconds(text):
    """Of a time as Auto Scaling takes it."""
    try:
        found = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise wrong("Invalid timestamp: " + text) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.timezone.utc)
    return found.timestamp()
