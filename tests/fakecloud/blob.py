"""Bodies: small ones in memory, large ones in files that go with their last user.

A blob never changes, and is a list of pieces, so that a multipart object needs no
copy of its parts.
"""
import hashlib
import os
import tempfile
import weakref

IN_MEMORY = 1 << 18


def remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


class File:
    """A file that lives as long as something refers to it."""

    def __init__(self, path):
        self.path = path
        weakref.finalize(self, remove, path)


class Range:
    """A part of a file."""

    def __init__(self, file, start, length):
        self.file, self.start, self.length = file, start, length

    def __len__(self):
        return self.length

    def view(self):
        return self.file.path, self.start, self.length

    def slice(self, start, end):
        return Range(self.file, self.start + start, end - start)

    def chunks(self):
        left = self.length
        with open(self.file.path, "rb") as source:
            source.seek(self.start)
            while left:
                piece = source.read(min(left, 1 << 20))
                if not piece:
                    raise OSError("%s is too short" % self.file.path)
                left -= len(piece)
                yield piece


class Blob:
    def __init__(self, pieces, digests=None):
        self.pieces = [p for p in pieces if len(p)]
        self.size = sum(len(p) for p in self.pieces)
        self.digests = dict(digests or {})

    def __len__(self):
        return self.size

    def __bytes__(self):
        return b"".join(self.chunks())

    def chunks(self):
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                yield from piece.chunks()

    def slice(self, start, end):
        found, at = [], 0
        for piece in self.pieces:
            low, high = max(start - at, 0), min(end - at, len(piece))
            if low < high:
                whole = low == 0 and high == len(piece)
                if whole:
                    found.append(piece)
                elif isinstance(piece, bytes):
                    found.append(piece[low:high])
                else:
                    found.append(piece.slice(low, high))
            at += len(piece)
        return Blob(found)

    def digest(self, name):
        """Raw digest by a name that hashlib knows, computed once."""
        if name not in self.digests:
            state = hashlib.new(name)
            for piece in self.chunks():
                state.update(piece)
            self.digests[name] = state.digest()
        return self.digests[name]

    def hex(self, name):
        return self.digest(name).hex()


def join(blobs):
    return Blob([p for b in blobs for p in b.pieces])


EMPTY = Blob([])


class Writer:
    """Takes a body as it comes, and computes some digests on the way."""

    def __init__(self, folder, digests=("md5",)):
        self.folder = folder
        self.parts, self.size, self.out, self.file = [], 0, None, None
        self.states = {n: hashlib.new(n) for n in digests}

    def write(self, piece):
        for state in self.states.values():
            state.update(piece)
        self.size += len(piece)
        if self.out is None and self.size > IN_MEMORY:
            handle, path = tempfile.mkstemp(dir=self.folder, prefix="blob-")
            self.file = File(path)
            self.out = os.fdopen(handle, "wb", buffering=0)
            for early in self.parts:
                self.out.write(early)
            self.parts = []
        if self.out is None:
            self.parts.append(piece)
        else:
            self.out.write(piece)

    def finish(self):
        digests = {n: s.digest() for n, s in self.states.items()}
        if self.out is None:
            return Blob([b"".join(self.parts)], digests)
        self.out.close()
        return Blob([Range(self.file, 0, self.size)], digests)
