"""Conditions and checksums of Google Cloud Storage, for both of its interfaces."""
import base64

from . import sums
from .google_auth import GoogleError
from .rest import unbase64

CLASSES = ("STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE")


def generation_of(bucket, key):
    found = bucket.objects.get(key)
    return found.generation if found else 0


def check_generation(settings, wanted, found):
    """wanted: text of the condition, or None; found: 0 when there is no object."""
    if wanted is None or (settings and settings["conditions"] == "ignore"):
        return
    if settings and settings["conditions"] == "refuse":
        raise GoogleError(501, "NotImplemented", "A header you provided implies "
                          "functionality that is not implemented.")
    if wanted != str(found):
        raise GoogleError(412, "PreconditionFailed", "At least one of the pre-conditions you "
                          "specified did not hold.", "conditionNotMet")


def crc32c(blob):
    return base64.b64encode(sums.digest("crc32c", blob)).decode()


def hashes(found):
    held = [("x-goog-hash", "crc32c=" + crc32c(found.blob))]
    if not found.parts:
        held.append(("x-goog-hash", "md5=" + base64.b64encode(found.blob.digest("md5")).decode()))
    return held


def check_hash(blob, name, value, trust=False):
    raw = unbase64(value)
    if name not in ("crc32c", "md5") or raw is None:
        raise GoogleError(400, "InvalidDigest", "The value provided for x-goog-hash was "
                          "invalid.", "invalid")
    if trust:
        blob.digests.setdefault(name, raw)
    if raw != sums.digest(name, blob) if name == "crc32c" else raw != blob.digest("md5"):
        raise GoogleError(400, "BadDigest", "The %s you specified did not match what we "
                          "received." % name.upper(), "invalid")
