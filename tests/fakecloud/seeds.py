"""Objects by the thousand, for tests that need a full bucket."""
from . import blob, objects

KINDS = {"prefix", "count", "size", "folders", "distinct", "keys", "storage_class", "bucket",
         "service"}


def names(asked):
    """Keys in their order: those that are listed, or PREFIX[FOLDER/]NUMBER."""
    if "keys" in asked:
        return asked["keys"]
    prefix, count, folders = asked.get("prefix", ""), asked["count"], asked.get("folders", 0)
    if not folders:
        return ["%s%08d" % (prefix, n) for n in range(count)]
    each = -(-count // folders)
    return ["%s%05d/%08d" % (prefix, n // each, n) for n in range(count)]


def text(number, size):
    """Bytes that tell one object from another."""
    line = b"%015d\n" % number
    return (line * (size // len(line) + 1))[:size]


def made(asked, storage_class):
    """Objects, of which all share one body unless they are to be distinct."""
    unknown = set(asked) - KINDS
    if unknown:
        raise ValueError("unknown fields: " + ", ".join(sorted(unknown)))
    size, storage_class = asked.get("size", 0), asked.get("storage_class", storage_class)
    body = blob.Blob([text(0, size)])
    for number, key in enumerate(names(asked)):
        if asked.get("distinct"):
            body = blob.Blob([text(number, size)])
        yield objects.Object(key, body, '"%s"' % body.hex("md5"), storage_class=storage_class)
