"""The channel by which tests script faults and look at what is there."""
import json
import time

from .http1 import Answer, Failure
from .sigv4 import iso


class Control:
    name = "control"
    reads_first = True

    def __init__(self, world):
        self.world = world
        self.server = None

    def identify(self, request):
        request.operation = request.method + " " + request.path

    def authenticate(self, request):
        pass

    def digests(self, request):
        return ()

    def check_body(self, request):
        pass

    def ids(self, request):
        return []

    def failure(self, request, failed):
        return reply({"error": failed.message}, failed.status)

    def handle(self, request):
        method, name = request.method, request.path.rpartition("/")[2]
        work = getattr(self, "%s_%s" % (method.lower(), name), None)
        if work is None or not request.path.startswith("/_control/"):
            raise Failure(404, "NotFound", "nothing at %s %s" % (method, request.path))
        try:
            args = request.args()
            if method != "GET" and len(request.body):
                args = json.loads(bytes(request.body))
            return reply(work(args))
        except (ValueError, KeyError, TypeError) as wrong:
            raise Failure(400, "BadRequest", str(wrong)) from None

    def get_faults(self, args):
        return {"faults": self.world.faults.state()}

    def post_faults(self, args):
        self.world.faults.add(args)
        return self.get_faults(args)

    def delete_faults(self, args):
        self.world.faults.clear()
        return {}

    def post_down(self, args):
        """{"service": NAME}: nothing listens there any more, until it is up again."""
        self.server.take_down(args["service"])
        return {}

    def post_up(self, args):
        self.server.bring_back(args["service"])
        return {}

    def get_settings(self, args):
        return self.world.settings

    def post_settings(self, args):
        self.world.change(args)
        return self.world.settings

    def get_requests(self, args):
        since = int(args.get("since", 0))
        end = len(self.world.requests)
        found = [{n: v for n, v in r.items() if n != "began"}
                 for r in self.world.requests[since:end]
                 if r["service"] == args.get("service", r["service"])]
        return {"requests": found, "next": end}

    def get_objects(self, args):
        """All of them, or those that begin with ?prefix=, with sha256 unless ?sha256=0;
        uploads that did not end."""
        objects, uploads = [], []
        for service, namespace in self.world.namespaces.items():
            if service != args.get("service", service):
                continue
            for bucket in list(namespace.buckets.values()):
                where = {"service": service, "bucket": bucket.name}
                with bucket.lock:
                    held, open_ones = list(bucket.objects.values()), list(bucket.uploads.values())
                objects += [dict(where, **describe(o, args.get("sha256") != "0"))
                            for o in held if o.key.startswith(args.get("prefix", ""))]
                uploads += [dict(where, key=u.key, id=u.id,
                                 parts={n: len(p.blob) for n, p in sorted(u.parts.items())})
                            for u in open_ones]
        uploads += [{"service": "gcs", "bucket": s.bucket.name, "key": s.made.key,
                     "id": s.id, "parts": {"0": len(s.held)}}
                    for s in list(self.world.sessions.values()) if s.made and not s.done]
        return {"objects": objects, "uploads": uploads, "late": len(self.server.late)}

    def post_objects(self, args):
        self.world.seed(args.get("service", "s3"), args["bucket"], args)
        return {}

    def post_buckets(self, args):
        self.world.create_bucket(args)
        return {}

    def get_iam(self, args):
        """Roles with their documents, and instance profiles."""
        return self.world.iam.describe()

    def get_bucket(self, args):
        """What is kept about ?name=, such as its policy."""
        s3 = self.server.services["s3"]
        found = s3.namespace.find(args["name"])
        return {"there": found is not None,
                "kept": s3.dumped(found) if found is not None else {}}

    def post_keys(self, args):
        """A key of {"cloud": ..., "id": ..., ...}, as in the configuration."""
        self.world.add_key(args)
        return {}

    def post_accounts(self, args):
        """A service account of Google's: {"email", "public_key": PEM, "key_id"?, "deny"?,
        "impersonators"?}."""
        self.world.add_account(args)
        return {}

    def post_config(self, args):
        """Replaces parts: {"aws": {"web_tokens": [...]}}; a reset takes it back."""
        for name, value in args.items():
            self.world.config[name].update(value)
        return self.world.config

    def post_metadata(self, args):
        """{"aws": {"meta-data/spot/instance-action": TEXT, ...}}; null takes it away."""
        for cloud, texts in args.items():
            held = self.world.metadata[cloud]
            held.update(texts)
            for name in [n for n, v in held.items() if v is None]:
                del held[name]
        return self.world.metadata

    def get_machines(self, args):
        """Every machine that EC2 ever made, and what it has cost until now; groups of
        placement and security that somebody made."""
        book, now = self.world.ec2, time.monotonic()
        with book.lock:
            found = [m.describe(now) for m in book.machines.values()]
            groups = list(book.groups) + [
                g.id for region in book.regions.values() for g in region.groups.values()
                if g.name != "default"]
            guards = [{"id": g.id, "name": g.name, "tags": g.tags, "rules": g.rules}
                      for region in book.regions.values() for g in region.groups.values()]
        return {"machines": found, "groups": groups, "security_groups": guards,
                "micros": sum(sum(m["bill"].values()) for m in found)}

    def get_figures(self, args):
        """What CloudWatch was told."""
        return {"figures": self.world.figures}

    def post_machines(self, args):
        """{"id": ..., "do": "notice" (with "seconds") | "rebalance" | "kill" | "reboot" |
        "older" (by "seconds") | "cut" (for "seconds"; from a "service", else from all) |
        "expire" (the credentials that it has)}."""
        book = self.world.ec2
        machine, do = book.machines[args["id"]], args["do"]
        if do == "notice":
            book.notice(machine, args.get("seconds", 120))
        elif do == "rebalance":
            machine.metadata["meta-data/events/recommendations/rebalance"] = \
                '{"noticeTime": "%s"}' % iso(self.world.clock())
        elif do == "kill":
            book.end(machine, "Server.InternalError", "Server.InternalError: Internal error",
                     sudden=True)
        elif do == "cut":
            machine.cut = time.monotonic() + args["seconds"], args.get("service")
        elif do == "expire" and machine.imds:
            if machine.imds.key:
                self.world.expire(machine.imds.key.id)
        elif do == "older":
            machine.older(args["seconds"])
        elif do == "reboot" and machine.boot:
            machine.boot.reboot()
        else:
            raise ValueError("cannot do: " + do)
        return machine.describe(time.monotonic())

    def get_groups(self, args):
        """Every group of Auto Scaling, and the launch templates."""
        book = self.world.ec2
        with book.lock:
            return {"groups": [
                {"name": g.name, "region": g.region, "sizes": [g.low, g.desired, g.high],
                 "machines": [m.id for m in g.living()], "status": g.status,
                 "actions": g.actions, "activities": g.activities,
                 "tags": {t["key"]: t["value"] for t in g.tags}}
                for g in book.scaling.values()],
                "templates": [t.name for r in book.regions.values()
                              for t in r.templates.values()]}

    def post_groups(self, args):
        """Somebody sets the size of all of them: {"size": N}."""
        book = self.world.ec2
        with book.lock:
            for group in book.scaling.values():
                group.resize(0, args["size"], args["size"])
        return self.get_groups(args)

    def get_console(self, args):
        machine = self.world.ec2.machines[args["id"]]
        return {"text": (machine.boot.text() if machine.boot else b"").decode(
            "utf-8", "replace")}

    def get_written(self, args):
        """Files that a machine's life left on its disk; null until it is off."""
        machine = self.world.ec2.machines[args["id"]]
        return {"files": machine.boot.written() if machine.boot else None}

    def post_expire(self, args):
        self.world.expire(args.get("id"))
        return {}

    def post_reset(self, args):
        for timer in list(self.server.late):
            timer.cancel()
        self.server.late.clear()
        self.world.reset()
        return {}


def describe(found, with_sum):
    shown = {"key": found.key, "size": len(found.blob), "etag": found.etag,
             "storage_class": found.storage_class, "mtime": found.mtime,
             "generation": found.generation, "headers": found.headers, "meta": found.meta}
    if with_sum:
        shown["sha256"] = found.blob.hex("sha256")
    return shown


def reply(value, status=200):
    text = json.dumps(value, ensure_ascii=True, indent=1) + "\n"
    return Answer(status, [], text.encode(), "application/json")
