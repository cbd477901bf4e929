"""The chaos run, see run.sh: one line of TAP for each seed."""
import argparse
import hashlib
import json
import os
import queue
import random
import shutil
import sys
import tempfile
import threading
import time

import faults
from place import SLOW, Place, wait_for

LINES = 10
LIMIT = 480  # seconds until all is over; a machine that says nothing has three minutes
# What may differ between the meter and us where an end has no time of the cloud's own:
# seconds that we count less, or more.
LESS, MORE = 2, 75
SPEC = """name: %(name)s
resources: {infra: aws, use_spot: %(spot)s}
num_nodes: %(nodes)d
checkpoint: {path: ck, upload_every: 1s, grace: 2s}
artifacts: [{path: result, when: always}]
run: |
  n=0 h=
  if [ -n "${GPUCLOUD_RESUME_FROM:-}" ]; then read -r n h <"$GPUCLOUD_RESUME_FROM/n"; fi
  while [ "$n" -lt %(lines)d ]; do
    n=$((n + 1))
    h=$(echo "$h $n" | sha256sum | cut -c 1-64)
    echo "line $n"
    if [ "$GPUCLOUD_NODE_RANK" = 0 ]; then
      echo "$n $h" >"$GPUCLOUD_CHECKPOINT_DIR/.n"
      mv "$GPUCLOUD_CHECKPOINT_DIR/.n" "$GPUCLOUD_CHECKPOINT_DIR/n"
    fi
    sleep 0.25
  done
  echo "$n $h" >result
  exit %(code)d
"""


def result():
    text = ""
    for n in range(1, LINES + 1):
        text = hashlib.sha256(("%s %d\n" % (text, n)).encode()).hexdigest()
    return "%d %s\n" % (LINES, text)


class Run:
    def __init__(self, place, seed):
        self.place, self.seed = place, seed
        self.rng = random.Random(seed)
        self.plan = faults.Plan(self.rng, seed)
        self.name = "chaos-%d" % seed
        self.alone = False  # nobody supervises any more, but who does by hand
        self.id = None
        self.kept = {}      # what was acknowledged: its sums
        self.problems = []

    def sign_in(self):
        n = random.randrange(1 << 40)
        self.key = {"cloud": "aws", "id": "ASIA%016d" % n, "secret": "secret%034d" % n,
                    "token": "token%d" % n, "expires": time.time() + 3600,
                    "arn": "arn:aws:iam::123456789012:user/tester"}
        self.place.control("keys", self.key)
        self.place.sign_in(self.key["id"], self.key["secret"], self.key["token"])

    @property
    def job(self):
        """Its id, once it is there."""
        if not self.id:
            start = "jobs/%s-" % self.name
            found = self.place.control("objects?service=s3&sha256=0&prefix=chaos/" + start)
            self.id = next((o["key"].split("/")[2] for o in found["objects"]
                            if o["key"].endswith("/job.json")), None)
        return self.id

    def problem(self, text, *more):
        self.problems.append(text % more if more else text)

    # -- what happens

    def submit(self, *more):
        return self.place.start("submit", "-y", "--once", self.name, *more,
                                self.name + ".yaml", log=self.name + ".log")

    def wrong(self, at, fault, seed):
        time.sleep(max(0, self.began + at - time.monotonic()))
        try:
            fault(self, random.Random(seed))
        except Exception as failed:  # told like any other
            self.problem("%s: %r", fault.__name__, failed)

    def go(self):
        self.place.control("faults", method="DELETE")
        self.place.control("config", {"ec2": {"capacity": {}}})
        self.place.control("settings", {"clock_offset": 0})
        self.sign_in()
        with open(os.path.join(self.place.folder, self.name + ".yaml"), "w",
                  encoding="ascii") as out:
            out.write(SPEC % {"name": self.name, "spot": str(self.plan.spot).lower(),
                              "nodes": self.plan.nodes, "lines": LINES,
                              "code": self.plan.code})
        self.began = time.monotonic()
        threads = [threading.Thread(target=self.wrong, daemon=True, args=(
            at, fault, "%d/%d" % (self.seed, i)))
            for i, (at, fault) in enumerate(self.plan.steps)]
        for (at, fault), thread in zip(self.plan.steps, threads):
            thread.start()
            if fault is faults.clock or \
                    fault in faults.EARLY and fault is not faults.no_capacity:
                thread.join()
        self.client = self.submit(*(["-d"] if self.plan.detached else []))
        self.said = []
        threading.Thread(target=lambda: self.said.append(self.client.stdout.read()),
                         daemon=True).start()
        for thread in threads:
            thread.join()
        self.wait()
        if not self.problems:
            self.check()
        return self.problems

    def status(self):
        status, out, _ = self.place.run("status", self.job, "--json")
        return json.loads(out) if status == 0 else None

    def is_over(self):
        told = self.job and self.status()
        return bool(told) and "ended" in told and \
            all("released" in n for n in told["nodes"])

    def keep(self):
        """Streams and events are never changed; a checkpoint may be pruned."""
        if self.job:
            self.kept.update((k, v) for k, v in self.place.objects(
                "jobs/%s/" % self.job).items() if "/log/" in k or "/marks/" in k or
                "/events/" in k)

    def wait(self):
        end = time.monotonic() + LIMIT * SLOW
        while time.monotonic() < end:
            self.keep()
            if self.is_over():
                return
            if self.alone and self.job:  # as cron does
                self.place.run("supervise", "--once")
            elif self.alone or (self.client.poll() not in (None, 0) and not self.job):
                self.submit("-d").wait(60 * SLOW)  # somebody tries once more
                self.alone = True
            time.sleep(0.3)
        self.problem("is not over after %d s: %s", LIMIT * SLOW,
                     json.dumps(self.job and self.status()))

    # -- what must be true then

    def check(self):
        told = self.status()
        self.check_end(told)
        self.check_result(told)
        self.check_kept()
        left = wait_for(30, lambda: not self.place.live()) or self.place.left()
        if left is not True and left:
            self.problem("is left: %s", left)
        self.check_cost()
        if not self.alone and not self.plan.detached:
            status = self.client.wait(60 * SLOW)
            if status != self.plan.code and not self.hopeless:
                self.problem("the client ended with %d", status)

    def check_end(self, told):
        want = ("SUCCEEDED", "completed", 0) if not self.plan.code else \
            ("FAILED", "exit_code", self.plan.code)
        have = told["state"], told["reason"], told["exit_code"]
        # Two that die before they have saved anything end a job, and rightly so.
        self.hopeless = have[:2] == ("FAILED", "no_progress") and sum(
            fault in faults.MACHINE for _, fault in self.plan.steps) > 1
        if have != want and not self.hopeless:
            self.problem("ended as %s, not %s", have, want)

    def check_result(self, told):
        folder = os.path.join(self.place.folder, "pulled")
        shutil.rmtree(folder, ignore_errors=True)
        status, _, err = self.place.run("pull", self.job, folder)
        try:
            with open(folder + "/result", encoding="ascii") as source:
                have = source.read()
        except OSError:
            have = None
        if not self.hopeless and (status or have != result()):
            self.problem("result is %r: %s", have, err)
        for attempt in range(1, told["attempt"] + 1):
            self.check_log(attempt, attempt == told["attempt"] and not self.hopeless)

    def check_log(self, attempt, last):
        """The lines are in order, and the last attempt's are all there."""
        status, out, err = self.place.run("logs", self.job, "--rank", "0", "--attempt",
                                          str(attempt))
        lines = out.split("\n") if last else out.split("\n")[:-1]
        numbers = [int(line.split()[1]) for line in lines if line]
        first = numbers[0] if numbers else 1
        if status or numbers != list(range(first, first + len(numbers))) or \
                (last and numbers[-1:] not in ([], [LINES])):
            self.problem("the log of attempt %d is %r: %s", attempt, out, err)

    def check_kept(self):
        now = self.place.objects("jobs/%s/" % self.job)
        for key, sum_ in sorted(self.kept.items()):
            if now.get(key) != sum_:
                self.problem("%s was acknowledged and is %s", key,
                             "changed" if key in now else "gone")
        if any("/checkpoints/" in key for key in now):
            status, _, err = self.place.run("checkpoint", "verify", "--all", self.job)
            if status:
                self.problem("a checkpoint is not complete: %s", err)

    def check_cost(self):
        """Millionths, against the meter."""
        status, out, err = self.place.run("cost", self.job, "--json")
        if status:
            return self.problem("cost: %s", err)
        amount = json.loads(out)["rows"][0]["cost"]["amount"]
        ours = round(float(amount) * 1e6)
        machines = self.place.machines(self.job)
        meter = sum(sum(m["bill"].values()) for m in machines)
        rate = sum(sum(m["bill"].values()) / m["seconds"] for m in machines if m["seconds"])
        longest = max((m["seconds"] for m in machines), default=0)
        less, more = (0, 0) if longest <= 60 and time.monotonic() - self.began < 60 else \
            (LESS, MORE)
        if not meter - less * rate - 3 <= ours <= meter + more * rate + 3 or \
                (not less and ours != meter):
            self.problem("cost %d, the meter says %d of %s", ours, meter, [
                (m["id"], m["market"], m["seconds"], m["reason"]) for m in machines])


# -- many of them

def worker(top, name, seeds, results, keep):
    place = None
    try:
        place = Place(top, name)
        while True:
            try:
                seed = seeds.get_nowait()
            except queue.Empty:
                return
            run, began = Run(place, seed), time.monotonic()
            try:
                problems = run.go()
            except Exception as failed:
                problems = ["%r" % failed]
            results.put((seed, run, problems, time.monotonic() - began))
            if problems:  # what is left must not be in the way of others
                if keep:
                    return
                place.close(False)
                place = Place(top, name)
    finally:
        if place:
            place.close(keep)
        results.put(None)


def tell(number, seed, run, problems, seconds, folder):
    print("%sok %d - seed %d: %s (%d s)" % ("not " if problems else "", number, seed,
                                            run.plan, seconds))
    for text in problems:
        print("# " + text.replace("\n", "\n# "))
    if problems:
        print("# job %s; again: sh tests/chaos/run.sh --seeds %d-%d --keep   (%s)"
              % (run.id, seed, seed, folder))
    sys.stdout.flush()


def read_seeds(text):
    """7,12-20"""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("--seeds", default="1-330", metavar="LIST",
                        help="like 1-300 or 7,12-20")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="at a time")
    parser.add_argument("--keep", action="store_true", help="leave the folder of a failure")
    args = parser.parse_args()
    numbers = list(read_seeds(args.seeds))
    seeds, results = queue.Queue(), queue.Queue()
    for n in numbers:
        seeds.put(n)
    top = tempfile.mkdtemp(prefix="gpucloud-chaos.")
    workers, begun, done, failed = 1, 0, 0, 0
    while workers:
        while begun < workers:
            threading.Thread(target=worker, args=(
                top, str(begun), seeds, results, args.keep)).start()
            begun += 1
        item = results.get()
        if item is None:
            workers -= 1
            continue
        if not done:  # the others find in the cache what the first one made
            workers = min(args.j, len(numbers))
        done += 1
        failed += bool(item[2])
        tell(done, *item, top)
    print("1..%d" % done)
    if not args.keep:
        shutil.rmtree(top, ignore_errors=True)
    return 1 if failed or done < len(numbers) else 0


sys.exit(main())
