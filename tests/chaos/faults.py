"""What goes wrong, and when: chosen by a seed's own random numbers. A fault is made of a
moment and of what is done then to a run of run.py."""
import os
import signal
import time

from place import kill, send, wait_for

NO_ROOM = {"capacity": {"*": 0}}


def machine(run):
    """The newest one that runs; some faults need it."""
    found = wait_for(30, lambda: run.job and [
        m for m in run.place.live(run.job) if m["state"] == "running"])
    return max(found, key=lambda m: m["launched"])["id"] if found else None


def do(run, what, **more):
    ident = machine(run)
    if ident:
        run.place.control("machines", dict(more, id=ident, do=what))
    return ident


def client(run, rng):
    """kill -9 of who submits."""
    kill(run.client.pid)
    run.alone = True


def supervisor(run, rng):
    """kill -9 of who supervises, be it who submits."""
    wait_for(10, lambda: run.place.processes("supervise"))
    for pid in run.place.processes("supervise"):
        kill(pid)
    kill(run.client.pid)
    run.alone = True


def notice(run, rng):
    run.spot = True
    do(run, "notice", seconds=rng.choice((8, 20, 120)))


def market(run, rng):
    """Without a notice that is long enough for anything."""
    do(run, "notice", seconds=0.1)


def death(run, rng):
    do(run, "kill")


def reboot(run, rng):
    do(run, "reboot")


def partition(run, rng):
    more = {"service": "s3"} if rng.random() < 0.5 else {}
    do(run, "cut", seconds=rng.uniform(2, 12), **more)


def node_credentials(run, rng):
    do(run, "expire")


def client_credentials(run, rng):
    """Those of the client and of who supervises end; later there are new ones."""
    place = run.place
    place.control("expire", {"id": run.key["id"]})
    time.sleep(rng.uniform(0, 4))
    run.sign_in()
    run.alone = True


def no_capacity(run, rng):
    """Nowhere, for some time."""
    run.place.control("config", {"ec2": NO_ROOM})
    time.sleep(rng.uniform(1, 5))
    run.place.control("config", {"ec2": {"capacity": {}}})


def one_zone(run, rng):
    run.place.control("config", {"ec2": {"capacity": {"us-east-1a/*": 0}}})


def fail(run, operation, **fault):
    run.place.control("faults", dict(fault, operation=operation,
                                     service=fault.get("service", "ec2")))


def lost_reply(run, rng):
    how = rng.choice(("reset", "hang"))
    fail(run, "RunInstances", do=how, effect=True, seconds=2, count=rng.choice((1, 1, 2)))


def lost_request(run, rng):
    fail(run, "RunInstances", do="reset", effect=False)


def lost_release(run, rng):
    fail(run, "TerminateInstances", do="reset", effect=True)


def throttled(run, rng):
    operation = rng.choice(("RunInstances", "DescribeInstances", "DescribeImages",
                            "DescribeInstanceTypeOfferings", "TerminateInstances"))
    fail(run, operation, do="error", status=503, code="RequestLimitExceeded",
         count=rng.randint(1, 6))


def unavailable(run, rng):
    fail(run, rng.choice(("RunInstances", "DescribeInstances")), do="error", status=500,
         code="InternalError", effect=rng.random() < 0.5, count=rng.randint(1, 3))


def slow_store(run, rng):
    fail(run, rng.choice(("PutObject", "GetObject", "ListObjectsV2", "HeadObject")),
         service="s3", do="error", status=503, count=rng.randint(1, 12))


def lost_puts(run, rng):
    fail(run, "PutObject", service="s3", do="reset", effect=rng.random() < 0.7,
         count=rng.randint(1, 5), nth=rng.randint(1, 10))


def late_put(run, rng):
    """Of the journal: what was not answered happens later."""
    run.place.control("faults", {"service": "s3", "operation": "PutObject", "do": "late",
                                 "ms": 1500, "prefix": "chaos/jobs/", "nth": rng.randint(1, 8)})


def long_partition(run, rng):
    """Longer than a node may be silent: it is given up, and finds that out later."""
    do(run, "cut", seconds=rng.uniform(200, 230))


def clock(run, rng):
    """Nobody here has the time that the cloud has."""
    run.place.control("settings", {"clock_offset": rng.choice((-600, 600))})


def sleeper(run, rng):
    """Who supervises is stopped, another one takes over after a minute, with a machine
    to replace; then the first one wakes."""
    wait_for(10, lambda: run.place.processes("supervise"))
    pids = run.place.processes("supervise") + [run.client.pid]
    for pid in pids:
        send(pid, signal.SIGSTOP)
    do(run, "kill")
    other = run.place.start("supervise", XDG_STATE_HOME=os.path.join(
        run.place.folder, "other"))
    wait_for(180, lambda: other.poll() is not None or run.is_over())
    for pid in pids:
        send(pid, signal.SIGCONT)


# Before it is submitted; at some time; and those that take a machine.
EARLY = (lost_reply, lost_request, throttled, unavailable, no_capacity, one_zone, late_put)
ANY = (client, supervisor, throttled, slow_store, lost_puts, lost_release, late_put,
       client_credentials)
MACHINE = (notice, market, death, reboot, partition, node_credentials)
# What takes minutes, or came later: of seeds beyond these, so that no other changes.
SHORT = 300
LONG = (long_partition, clock, sleeper)


class Plan:
    """What a seed chooses."""

    def __init__(self, rng, seed):
        self.code = rng.choice((0, 0, 0, 7))
        self.detached = rng.random() < 0.5
        self.spot = rng.random() < 0.3
        self.nodes = 2 if rng.random() < 0.15 else 1
        self.steps = []
        for _ in range(2 if rng.random() < 0.25 else 1):
            group = rng.choice((EARLY, ANY, MACHINE, MACHINE))
            fault = rng.choice(group)
            at = 0 if group is EARLY else rng.uniform(0, 5)
            if seed > SHORT and not self.steps:
                fault = LONG[seed % len(LONG)]
                at = 0 if fault is clock else rng.uniform(0.5, 2)
            self.spot |= fault in (notice, market)
            self.steps.append((at, fault))
        self.steps.sort(key=lambda s: (s[0], s[1].__name__))

    def __str__(self):
        return "%s%s%sexit %d; %s" % (
            "detached, " if self.detached else "", "spot, " if self.spot else "",
            "2 nodes, " if self.nodes > 1 else "", self.code,
            ", ".join("%s at %.1f s" % (f.__name__, at) for at, f in self.steps))
