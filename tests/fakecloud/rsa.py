"""Verifies RS256 with a public key in PEM: a few lines of DER and one power."""
import base64
import hashlib
import json

PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")  # DigestInfo of SHA-256


def der(data):
    """[(tag, content)] of the elements in a row."""
    found, at = [], 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            count = length & 0x7f
            length, at = int.from_bytes(data[at:at + count], "big"), at + count
        found.append((tag, data[at:at + length]))
        at += length
    return found


def public_key(pem):
    """(modulus, exponent) of a SubjectPublicKeyInfo or an RSAPublicKey."""
    lines = [x for x in pem.strip().splitlines() if not x.startswith("-----")]
    items = der(der(base64.b64decode("".join(lines)))[0][1])
    if items[0][0] == 0x30:  # the algorithm comes first, the key is in a bit string
        items = der(der(items[1][1][1:])[0][1])
    return tuple(int.from_bytes(content, "big") for _, content in items[:2])


def verify(key, message, signature):
    modulus, exponent = key
    size = (modulus.bit_length() + 7) // 8
    plain = pow(int.from_bytes(signature, "big"), exponent, modulus).to_bytes(size, "big")
    tail = b"\0" + PREFIX + hashlib.sha256(message).digest()
    return len(signature) == size and plain == b"\0\1" + b"\xff" * (size - 2 - len(tail)) + tail


def unbase64url(text):
    if "=" in text:
        raise ValueError("padded")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def jwt(text):
    """(header, claims, signed bytes, signature); ValueError if it is none."""
    parts = text.split(".")
    if len(parts) != 3:
        raise ValueError("no JWT")
    header, claims = (json.loads(unbase64url(p)) for p in parts[:2])
    return header, claims, ".".join(parts[:2]).encode(), unbase64url(parts[2])
