"""CRC-32C, CRC-64/NVME and CRC-64/XZ. Large bodies are given to crc.c where there is a
compiler; the rest is in the standard library alone.

CRC-64/XZ is taken from the library behind the module lzma where that can be found.
All three are linear, so a large piece is cut into equal lanes that are worked on
together: byte k of all lanes' states is one bytes object ("plane"), a table look-up
for all of them is bytes.translate, and xor is done on big integers. That is about a
hundred times as fast as a loop over bytes.
"""
import ctypes
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import zlib

LANES = 1 << 14
WIDTH = 64  # bytes of a lane
LARGE = 32 << 20  # from here on a compiler is worth its start
LANE_MASK = (1 << 8 * LANES) - 1


class Crc:
    """A reflected CRC whose start value and final xor are all ones."""

    def __init__(self, name, bits, poly):
        self.name, self.bits, self.size = name, bits, bits // 8
        self.ones = (1 << bits) - 1
        self.table = []
        for value in range(256):
            for _ in range(8):
                value = (value >> 1) ^ (poly if value & 1 else 0)
            self.table.append(value)
        self.planes = [bytes(v >> 8 * k & 255 for v in self.table)
                       for k in range(self.size)]
        self.shifts, self.moves = {}, {}

    def loop(self, state, data):
        table = self.table
        for byte in data:
            state = table[(state ^ byte) & 255] ^ (state >> 8)
        return state

    def shift(self, length):
        """The map state -> state after `length` zero bytes, as images of each bit."""
        if length not in self.shifts:
            if length == 1:
                images = [self.loop(1 << b, b"\0") for b in range(self.bits)]
            elif length % 2:
                images = [self.loop(i, b"\0") for i in self.shift(length - 1)]
            else:
                half = self.shift(length // 2)
                images = [apply(half, i) for i in half]
            self.shifts[length] = images
        return self.shifts[length]

    def add(self, state, data):
        """The raw state after more data."""
        block = LANES * WIDTH
        at = 0
        while len(data) - at >= block:
            inner = self.lanes(data[at:at + block])
            state = apply(self.shift(block), state) ^ inner
            at += block
        return self.loop(state, data[at:]) if at < len(data) else state

    def lanes(self, data):
        """The raw state after one block that begins with state zero."""
        state = 0  # all planes in one number, plane 0 lowest
        for column in range(WIDTH):
            first = (state & LANE_MASK).to_bytes(LANES, "little")
            index = xor(first, data[column::WIDTH])
            step = b"".join(map(index.translate, self.planes))
            state = state >> 8 * LANES ^ int.from_bytes(step, "little")
        flat = state.to_bytes(LANES * self.size, "little")
        planes = [flat[k * LANES:(k + 1) * LANES] for k in range(self.size)]
        length = WIDTH
        while len(planes[0]) > 1:  # neighbours become one
            left, right = [p[0::2] for p in planes], [p[1::2] for p in planes]
            moved = self.move(left, length)
            planes = [xor(m, r) for m, r in zip(moved, right)]
            length *= 2
        return int.from_bytes(b"".join(planes), "little")

    def move(self, planes, length):
        moved = [bytes(len(planes[0]))] * self.size
        for plane, tables in zip(planes, self.tables(length)):
            moved = [xor(m, plane.translate(t)) for m, t in zip(moved, tables)]
        return moved

    def tables(self, length):
        """The map of shift(length), as a table for each pair of planes."""
        if length not in self.moves:
            images, found = self.shift(length), []
            for source in range(self.size):
                part = [apply(images[8 * source:8 * source + 8], v) for v in range(256)]
                found.append([bytes(v >> 8 * k & 255 for v in part)
                              for k in range(self.size)])
            self.moves[length] = found
        return self.moves[length]

    def of(self, blob):
        state = self.ones
        add = (len(blob) >= LARGE and self.compiled) or self.add
        for piece in blob.chunks():
            state = add(state, piece)
        return state ^ self.ones

    @functools.cached_property
    def compiled(self):
        """add() by crc.c, or None."""
        found = by_compiler()
        if found is None:
            return None
        rows = [self.table]
        for _ in range(7):
            rows.append([self.table[v & 255] ^ (v >> 8) for v in rows[-1]])
        tables = (ctypes.c_uint64 * 2048)(*(v for row in rows for v in row))
        return lambda state, data: found(tables, state, bytes(data), len(data))

    def join(self, first, second, length):
        """The CRC of two parts in a row, `length` being that of the second."""
        return apply(self.shift(length), first) ^ second if length else first


def apply(images, value):
    out, bit = 0, 0
    while value:
        if value & 1:
            out ^= images[bit]
        value >>= 1
        bit += 1
    return out


def xor(a, b):
    both = int.from_bytes(a, "little") ^ int.from_bytes(b, "little")
    return both.to_bytes(len(a), "little")


CRC32C = Crc("crc32c", 32, 0x82f63b78)
CRC64NVME = Crc("crc64nvme", 64, 0x9a6c9329ac4bc9b5)
CRC64XZ = Crc("crc64xz", 64, 0xc96c5795d7870f42)
CRC32 = Crc("crc32", 32, 0xedb88320)
CRC32.add = lambda state, data: zlib.crc32(data, state ^ CRC32.ones) ^ CRC32.ones


@functools.lru_cache(None)
def by_compiler():
    """crc.c's function; None without a compiler, or where it does not fit."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "crc.c")
    with tempfile.TemporaryDirectory() as folder:
        made = folder + "/crc.so"
        try:
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made, source], check=True,
                           stderr=subprocess.DEVNULL, timeout=60)
            found = ctypes.CDLL(made).add
        except (OSError, subprocess.SubprocessError):
            return None
    found.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
    found.restype = ctypes.c_uint64
    return found if sys.byteorder == "little" else None


def by_liblzma():
    """Its CRC-64 as a function of (data, state), or None."""
    try:
        found = ctypes.CDLL("liblzma.so.5").lzma_crc64
    except (OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    found.restype = ctypes.c_uint64
    if found(b"123456789", 9, 0) != 0x995dc9bbdf1939fa:
        return None
    return lambda data, state: found(data, len(data), state)


NATIVE = by_liblzma()
if NATIVE:
    CRC64XZ.add = lambda state, data: NATIVE(bytes(data), state ^ CRC64XZ.ones) ^ CRC64XZ.ones
CRCS = {c.name: c for c in (CRC32, CRC32C, CRC64NVME)}
HASHES = ("sha1", "sha256")


def size(name):
    """Bytes of one of those that digest() makes."""
    return hashlib.new(name).digest_size if name in HASHES else CRCS[name].size


def digest(name, blob):
    """Raw checksum of a blob by one of the names that S3 knows."""
    if name in HASHES:
        return blob.digest(name)
    if name not in blob.digests:
        crc = CRCS.get(name) or CRC64XZ
        blob.digests[name] = crc.of(blob).to_bytes(crc.size, "big")
    return blob.digests[name]


def joined(name, blobs):
    """The CRC of blobs in a row, from the CRC of each."""
    crc, total = CRCS.get(name) or CRC64XZ, 0
    for blob in blobs:
        part = int.from_bytes(digest(name, blob), "big")
        total = crc.join(total, part, len(blob))
    return total.to_bytes(crc.size, "big")
