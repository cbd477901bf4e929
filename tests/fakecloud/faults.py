"""The script of faults: which requests go wrong, and how.

A fault is a JSON object. Which requests: service, operation, method, prefix (of the
key), bucket; all must fit. Of those that fit, the `nth` (1) and the `count` - 1 after
it (1; 0: all). What: "do" is one of
  error     status, code, message, retry_after (s), headers {}; "effect": true does
            the work all the same
            "early": true answers before the body is read
  reset     the connection breaks instead of an answer; "effect": true|false
  hang      no answer for `seconds`, then the connection breaks; "effect"
  delay     an answer after `seconds`
  cut       the connection breaks when `bytes` of an upload came
  truncate  the body ends after `bytes`, and the connection
  trickle   the body comes at `rate` bytes/s; "direction": "in" for uploads
  corrupt   the byte at `at` arrives inverted
  late      no answer (reset), and the effect comes after `ms`; "reply": "ok" says
            that it is done, "error" is a 500
  error-200 CompleteMultipartUpload and CopyObject: status 200 with an error for a
            body: code, message; "effect"
  blanks    CompleteMultipartUpload: `seconds` of white space before the result
  date      the server's clock is `offset` seconds wrong
  region    the bucket is in `region`
  touch     the object is written anew, with the same size, before the request is done
"""
import threading

KINDS = ("error", "reset", "cut", "hang", "delay", "truncate", "trickle", "corrupt", "late",
         "error-200", "blanks", "date", "region", "touch")
FIELDS = {"service", "operation", "method", "prefix", "bucket", "nth", "count", "do",
          "status", "code", "message", "retry_after", "headers", "effect", "seconds",
          "bytes", "rate", "direction", "at", "ms", "reply", "offset", "region",
          "early"}


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

    def get(self, name, default=None):
        return self.item.get(name, default)

    def fits(self, request, service):
        wanted = self.item
        if wanted.get("service", service) != service:
            return False
        if wanted.get("operation", request.operation) != request.operation:
            return False
        if wanted.get("method", request.method) != request.method:
            return False
        if wanted.get("bucket", request.bucket) != request.bucket:
            return False
        return (request.key or "").startswith(wanted.get("prefix", ""))

    def due(self):
        self.seen += 1
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
        """The first fault that is due; all that fit count the request."""
        with self.lock:
            due = [f for f in self.script if f.fits(request, service) and f.due()]
            return due[0] if due else None

    def state(self):
        with self.lock:
            return [dict(f.item, seen=f.seen, used=f.used) for f in self.script]
