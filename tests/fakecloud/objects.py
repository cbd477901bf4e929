"""Buckets, objects and uploads, whatever the dialect that speaks of them."""
import bisect
import secrets
import threading
import time

RACE = 0.1  # seconds between look and write of a store that does not lock


class Object:
    def __init__(self, key, blob, etag, headers=(), meta=(), storage_class="STANDARD"):
        self.key, self.blob, self.etag = key, blob, etag
        self.headers, self.meta = dict(headers), dict(meta)
        self.storage_class = storage_class
        self.checksums, self.checksum_type = {}, "FULL_OBJECT"
        self.parts = 0
        self.mtime = 0
        self.generation, self.metageneration = 0, 1
        self.restored = False


class Upload:
    def __init__(self, key, headers, meta, storage_class):
        self.id = secrets.token_urlsafe(24) + "."
        self.key, self.headers, self.meta = key, dict(headers), dict(meta)
        self.storage_class = storage_class
        self.parts = {}  # number -> Part
        self.started = time.time()
        self.algorithm, self.checksum_type = None, None
        self.precondition = None


class Part:
    def __init__(self, blob, etag, checksums=None):
        self.blob, self.etag, self.checksums = blob, etag, checksums or {}
        self.mtime = time.time()


def order(key):
    return key.encode("utf-8", "surrogateescape")


class Bucket:
    """Callers hold `lock` from a look to the write that rests on it."""

    def __init__(self, name, region):
        self.name, self.region = name, region
        self.lock = threading.RLock()
        self.objects, self.sorted = {}, []
        self.uploads, self.finished = {}, {}
        self.under_way = {}  # key -> conditional writes in flight
        self.created = time.time()
        self.last_generation = int(self.created * 1e6)
        self.storage_class = "STANDARD"
        self.owner = None  # an account; None: that of whoever asks
        self.kept = {}  # lifecycle, policy and so on, see s3_bucket.py

    def put(self, made, now):
        with self.lock:
            if made.key not in self.objects:
                bisect.insort(self.sorted, order(made.key))
            made.mtime = now
            self.last_generation += 1
            made.generation = self.last_generation
            self.objects[made.key] = made

    def fill(self, many, now):
        """As put() of each, in no more time than it takes to sort."""
        with self.lock:
            for made in many:
                self.last_generation += 1
                made.mtime, made.generation = now, self.last_generation
                self.objects[made.key] = made
            self.sorted = sorted(map(order, self.objects))

    def commit(self, made, check, now, mode):
        """Puts if check(found) raises nothing: as one step, unless the mode is racy."""
        if mode == "racy":
            check(self.objects.get(made.key))
            time.sleep(RACE)
            self.put(made, now)
            return
        with self.lock:
            check(self.objects.get(made.key))
            self.put(made, now)

    def remove(self, key):
        with self.lock:
            if self.objects.pop(key, None) is None:
                return False
            del self.sorted[bisect.bisect_left(self.sorted, order(key))]
            return True

    def page(self, prefix, delimiter, after, limit):
        """Up to `limit` entries past `after` (bytes; its own common prefix is past,
        too): (objects, common prefixes, last entry or None when nothing is left)."""
        with self.lock:
            head, found, prefixes = order(prefix), [], []
            mark, last = order(delimiter), after
            at = bisect.bisect_left(self.sorted, head)
            if after is not None:
                at = max(at, self.past(after, head, mark))
            while at < len(self.sorted) and self.sorted[at].startswith(head):
                if len(found) + len(prefixes) >= limit:
                    return found, prefixes, last
                name = self.sorted[at]
                cut = name.find(mark, len(head)) if mark else -1
                if cut < 0:
                    found.append(self.objects[name.decode("utf-8", "surrogateescape")])
                    last = name
                    at += 1
                    continue
                last = name[:cut + len(mark)]
                prefixes.append(last.decode("utf-8", "surrogateescape"))
                at = self.end_of(last)
            return found, prefixes, None

    def past(self, after, head, mark):
        if mark and after.endswith(mark) and after.find(mark, len(head)) == \
                len(after) - len(mark):
            return self.end_of(after)
        return bisect.bisect_right(self.sorted, after)

    def end_of(self, prefix):
        """Index of the first key past all that begin with `prefix`."""
        bound = prefix
        while bound and bound[-1] == 255:
            bound = bound[:-1]
        if not bound:
            return len(self.sorted)
        return bisect.bisect_left(self.sorted, bound[:-1] + bytes([bound[-1] + 1]))


class Namespace:
    """The buckets of one service."""

    def __init__(self, settings):
        self.settings, self.buckets = settings, {}
        self.lock = threading.RLock()

    def create(self, name, region):
        with self.lock:
            return self.buckets.setdefault(name, Bucket(name, region))

    def find(self, name):
        return self.buckets.get(name)
