"""The script of faults: which requests go wrong, and how.

A fault is a JSON object. Which requests: service, operation, method, prefix (of the
key), bucket, `ranged` (true, false: with a Range header or not), `part` (its number);
all must fit. Of those that fit, the `nth` (1) and the `count` - 1 after it (1; 0: all).
What: "do" is one of
  error     status, code, message, retry_after (s), headers {}; "effect": true does
            the work all the same
            "early": true answers before the body is read
  reset     the connection breaks instead of an answer; "effect": true|false
  hang      no answer for `seconds`, then the connection breaks; "effect"
  delay     an answer after `seconds`
  cut       the connection breaks when `bytes` of an upload came
  truncate  the body ends after `bytes`, and the connection
  trickle   the body comes at `rate` bytes/s; "direction": "in" for uploads
  corrupt   the byte at `at` arrives inverted; "direction": "in" for uploads
  late      no answer (reset), and the effect comes after `ms`; "reply": "ok" says
            that it is done, "error" is a 500
  error-200 CompleteMultipartUpload and CopyObject: status 200 with an error for a
            body: code, message; "effect"
  blanks    CompleteMultipartUpload: `seconds` of white space before the result
  date      the server's clock is `offset` seconds wrong
  region    the bucket is in `region`
  touch     the object is written anew, with the same size or `size`, or taken away if
            `gone`, before the request is done; with `bytes`: when so many bytes of the
            body were sent, and the connection breaks
  throttle  more than `at_once` requests that fit at a time are refused as by error;
            nth and count have no meaning
  keys      DeleteObjects refuses keys that begin with `keys`: code, message
"""
import threading

KINDS = ("error", "reset", "cut", "hang", "delay", "truncate", "trickle", "corrupt", "late",
         "error-200", "blanks", "date", "region", "touch", "throttle", "keys")
FIELDS = {"service", "operation", "method", "prefix", "bucket", "nth", "count", "do",
          "status", "code", "message", "retry_after", "headers", "effect", "seconds",
          "bytes", "rate", "direction", "at", "ms", "reply", "offset", "region",
          "early", "ranged", "part", "size", "gone", "at_once", "keys"}


class Fault:
    def __init__(self, item):
        unknown = set(item) - FIELDS
        if unknown:
            raise ValueError("unknown fields: " + ", ".join(sorted(unknown)))
        if item.get("do") not in KINDS:
            raise ValueError("unknown fault: %r" % item.get("do"))
        self.item = item
        self.do = item["do"]
        self.seen = 0
        self.used = 0
        self.under_way = 0  # of a throttle

    def get(self, name, default=None):
        return self.item.get(name, default)

    def fits(self, request, service):
        wanted = self.item
        if service == "control" or wanted.get("service", service) != service:
            return False
        if wanted.get("operation", request.operation) != request.operation:
            return False
        if wanted.get("method", request.method) != request.method:
            return False
        if wanted.get("bucket", request.bucket) != request.bucket:
            return False
        ranged = request.get("range") is not None
        if wanted.get("ranged", ranged) != ranged:
            return False
        if "part" in wanted and request.args().get("partNumber") != str(wanted["part"]):
            return False
        return (request.key or "").startswith(wanted.get("prefix", ""))

    def due(self):
        self.seen += 1
        if self.do == "throttle":
            self.under_way += 1
            over = self.under_way > self.get("at_once", 1)
            self.used += over
            return over
        first, count = self.get("nth", 1), self.get("count", 1)
        if self.seen < first or (count and self.seen >= first + count):
            return False
        self.used += 1
        return True


class Faults:
    def __init__(self):
        self.lock = threading.Lock()
        self.script = []

    def clear(self):
        with self.lock:
            self.script = []

    def add(self, items):
        made = [Fault(i) for i in (items if isinstance(items, list) else [items])]
        with self.lock:
            self.script += made

    def pick(self, request, service):
        """The first fault that is due; all that fit count the request, and get it
        back by done()."""
        with self.lock:
            request.counted = [f for f in self.script if f.fits(request, service)]
            due = [f for f in request.counted if f.due()]
            return due[0] if due else None

    def done(self, request):
        with self.lock:
            for fault in request.counted:
                fault.under_way -= fault.do == "throttle"
            request.counted = []

    def state(self):
        with self.lock:
            return [dict(f.item, seen=f.seen, used=f.used) for f in self.script]
